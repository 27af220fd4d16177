use super::*;
use alluvium_document::bson::encode_document;
use alluvium_document::doc;
use proptest::prelude::*;

fn body(map: &Map) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_document(map, &mut bytes).expect("BSON");
    bytes
}

fn message(op_code: OpCode, payload: &[u8]) -> (Header, Vec<u8>) {
    let header = Header { length: HEADER_BYTES + payload.len(), request_id: 7, response_to: 0, op_code };
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes.extend_from_slice(payload);
    (header, bytes)
}

fn parse(op_code: OpCode, payload: &[u8]) -> Result<Request, WireError> {
    let (header, bytes) = message(op_code, payload);
    Request::parse(&header, &bytes)
}

fn sections(flags: u32, sections: &[Vec<u8>]) -> Vec<u8> {
    [flags.to_le_bytes().to_vec(), sections.concat()].concat()
}

fn kind_0(map: &Map) -> Vec<u8> {
    [vec![0], body(map)].concat()
}

fn kind_1(name: &str, documents: &[Map]) -> Vec<u8> {
    let documents: Vec<u8> = documents.iter().flat_map(body).collect();
    let length = u32::try_from(4 + name.len() + 1 + documents.len()).expect("short");
    [vec![1], length.to_le_bytes().to_vec(), name.as_bytes().to_vec(), vec![0], documents].concat()
}

#[test]
fn documents_beside_the_body_are_an_array_of_it() {
    let documents = [doc! {"_id": 1}, doc! {"_id": 2}];
    let payload = sections(0, &[kind_1("documents", &documents), kind_0(&doc! {"insert": "pets", "$db": "shop"})]);
    let request = parse(OpCode::Msg, &payload).expect("a message");
    assert_eq!(request.body, doc! {"insert": "pets", "$db": "shop"});
    let read: Vec<Map> =
        request.sequences[0].iter().map(|raw| take_document(raw.expect("whole")).expect("BSON").0).collect();
    assert_eq!(read, documents);
    assert_eq!((request.request_id, request.more_to_come, request.form), (7, false, Form::Msg));
}

/// A message with a long array of documents in its body.
fn long(documents: &[Map]) -> Map {
    let documents = documents.iter().cloned().map(Value::Map).collect();
    doc! {"insert": "pets", "documents": (Value::Array(documents)), "ordered": true, "$db": "shop"}
}

fn opened(body: &Map) -> (Vec<u8>, Sealed) {
    let (header, bytes) = message(OpCode::Msg, &sections(0, &[kind_0(body)]));
    let sealed = Sealed::open(&header, &bytes, &|name| name == "documents").expect("a message");
    (bytes, sealed)
}

#[test]
fn a_long_array_of_documents_is_taken_out_of_the_body() {
    let documents: Vec<Map> = (0..2000).map(|n| doc! {"_id": n, "name": "rex"}).collect();
    let (bytes, sealed) = opened(&long(&documents));
    // Decoding all documents to a tree would cost much more memory than their bytes.
    assert!(sealed.cost(&bytes) < bytes.len() + 1000, "{}", sealed.cost(&bytes));
    let request = sealed.take(bytes).expect("a request");
    assert_eq!(request.body, doc! {"insert": "pets", "ordered": true, "$db": "shop"});
    assert_eq!(request.sequences[0].name, "documents");
    let read: Vec<Map> =
        request.sequences[0].iter().map(|raw| take_document(raw.expect("whole")).expect("BSON").0).collect();
    assert_eq!(read, documents);
}

#[test]
fn what_is_no_array_of_documents_stays_in_the_body() {
    let mut mixed = long(&(0..2000).map(|n| doc! {"_id": n, "name": "rex"}).collect::<Vec<_>>());
    let Some(Value::Array(elements)) = mixed.get_mut("documents") else { panic!("an array") };
    elements.push(Value::Null);
    let (bytes, sealed) = opened(&mixed);
    assert!(sealed.cost(&bytes) > 2000 * 200);
    assert_eq!(sealed.take(bytes).expect("a request").body, mixed);
}

#[test]
fn a_body_longer_than_a_document_is_refused() {
    let text = "x".repeat(MAX_BODY_BYTES);
    let (bytes, sealed) = opened(&doc! {"ping": (text.as_str())});
    let refused = sealed.take(bytes).expect_err("too long");
    assert!(matches!(refused, WireError::Body(_)) && refused.is_of_document(), "{refused}");
}

#[test]
fn the_longest_sequence_keeps_the_memory_of_the_message() {
    let documents: Vec<Map> = (0..2000).map(|n| doc! {"_id": n}).collect();
    let sent = [kind_1("nsInfo", &documents[..3]), kind_0(&doc! {"bulkWrite": 1}), kind_1("ops", &documents)];
    let (header, bytes) = message(OpCode::Msg, &sections(0, &sent));
    let sealed = Sealed::open(&header, &bytes, &|_| false).expect("a message");
    assert!(sealed.cost(&bytes) < 1000);
    let mut taken = sealed.take(bytes.clone()).expect("a request");
    taken.sequences.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(taken, Request::parse(&header, &bytes).expect("a request"));
}

#[test]
fn a_checksum_is_compared() {
    let payload = sections(CHECKSUM_PRESENT, &[kind_0(&doc! {"ping": 1})]);
    let (mut header, mut bytes) = message(OpCode::Msg, &payload);
    header.length += CHECKSUM_BYTES;
    bytes.clear();
    header.encode(&mut bytes);
    bytes.extend_from_slice(&payload);
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    assert_eq!(Request::parse(&header, &bytes).expect("its checksum").body, doc! {"ping": 1});
    for at in HEADER_BYTES + 4..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(Request::parse(&header, &damaged), Err(WireError::Checksum), "byte {at}");
    }
}

#[test]
fn sections_are_checked() {
    let ping = kind_0(&doc! {"ping": 1});
    let twice = kind_1("a", &[]);
    let cases: [(Vec<u8>, bool); 6] = [
        (sections(0, &[]), true),
        (sections(0, &[ping.clone(), ping.clone()]), true),
        (sections(0, &[ping.clone(), twice.clone(), twice]), true),
        (sections(0, &[ping.clone(), vec![9]]), true),
        (sections(0, &[ping.clone(), kind_1("ping", &[])]), true),
        (sections(0, &[ping]), false),
    ];
    for (at, (payload, refused)) in cases.iter().enumerate() {
        let parsed = parse(OpCode::Msg, payload);
        assert_eq!(matches!(parsed, Err(WireError::Section(_))), *refused, "case {at}: {parsed:?}");
    }
    assert_eq!(parse(OpCode::Msg, &sections(1 << 4, &[])), Err(WireError::Flags(1 << 4)));
}

#[test]
fn damaged_documents_leave_the_connection_usable() {
    let mut payload = sections(0, &[kind_0(&doc! {"ping": 1})]);
    payload[9] = 0x7e; // The type of `ping`.
    let error = parse(OpCode::Msg, &payload).expect_err("an unknown type");
    assert!(error.is_of_document(), "{error}");
    assert!(!WireError::Truncated.is_of_document());
}

#[test]
fn old_queries_are_commands() {
    let head = |name: &str| [vec![0; 4], name.as_bytes().to_vec(), vec![0], vec![0; 8]].concat();
    let command = doc! {"isMaster": 1};
    let request = parse(OpCode::Query, &[head("admin.$cmd"), body(&command)].concat()).expect("a command");
    assert_eq!((request.form, request.body), (Form::Query, doc! {"isMaster": 1, "$db": "admin"}));
    let wrapped = doc! {"$query": {"isMaster": 1}, "$readPreference": {"mode": "primary"}};
    let request = parse(OpCode::Query, &[head("admin.$cmd"), body(&wrapped)].concat()).expect("a command");
    assert_eq!(request.body, doc! {"isMaster": 1, "$db": "admin"});
    assert_eq!(parse(OpCode::Query, &[head("shop.pets"), body(&command)].concat()), Err(WireError::NotACommand));
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(payload in proptest::collection::vec(any::<u8>(), 0..200), query in any::<bool>()) {
        let op_code = if query { OpCode::Query } else { OpCode::Msg };
        if let Ok(request) = parse(op_code, &payload) {
            for sequence in &request.sequences {
                sequence.iter().for_each(drop);
            }
        }
    }

    #[test]
    fn a_cut_message_is_refused(cut in 0_usize..60) {
        let payload = sections(0, &[kind_0(&doc! {"insert": "pets"}), kind_1("documents", &[doc! {"_id": 1}])]);
        prop_assume!(cut < payload.len());
        let parsed = parse(OpCode::Msg, &payload[..cut]);
        // A message that is cut between its two sections is a valid message with the first one.
        let between = 4 + kind_0(&doc! {"insert": "pets"}).len();
        prop_assert_eq!(parsed.is_ok(), cut == between, "{:?}", parsed);
    }
}
