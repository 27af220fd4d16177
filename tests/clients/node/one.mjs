// Inserts one document: `one.mjs URI ID`.
import { MongoClient } from 'mongodb';

const [uri, name] = process.argv.slice(2);
const client = new MongoClient(uri);
try {
  await client.db('addresses').collection('seen').insertOne({ _id: name });
} finally {
  await client.close();
}
