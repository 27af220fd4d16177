import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.mongodb.kafka.connect.MongoSourceConnector;
import com.mongodb.kafka.connect.source.MongoSourceTask;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/**
 * Runs the source task of MongoDB's connector for Kafka with the properties of a file, in place of a worker with a broker.
 * Each record is a line of JSON on standard output; the offset is stored in a file after each batch, or, by the property
 * `flush`, after this many records. The task ends when standard input does.
 */
public final class Source {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final PrintStream OUT = System.out;

    /** The offsets of the partitions, by the JSON of the partition. */
    private static final class Offsets implements OffsetStorageReader {
        private final File file;
        private final Map<String, Map<String, Object>> offsets = new HashMap<>();

        Offsets(File file) throws IOException {
            this.file = file;
            if (file.exists()) {
                offsets.putAll(MAPPER.readValue(file, new TypeReference<Map<String, Map<String, Object>>>() {}));
            }
        }

        @SuppressWarnings("unchecked")
        void store(SourceRecord record) throws IOException {
            offsets.put(MAPPER.writeValueAsString(record.sourcePartition()), (Map<String, Object>) record.sourceOffset());
            Path written = Path.of(file + ".new");
            MAPPER.writeValue(written.toFile(), offsets);
            Files.move(written, file.toPath(), StandardCopyOption.ATOMIC_MOVE);
        }

        @Override
        public <T> Map<String, Object> offset(Map<String, T> partition) {
            try {
                return offsets.get(MAPPER.writeValueAsString(partition));
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }

        @Override
        public <T> Map<Map<String, T>, Map<String, Object>> offsets(Collection<Map<String, T>> partitions) {
            var found = new HashMap<Map<String, T>, Map<String, Object>>();
            partitions.forEach(partition -> found.put(partition, offset(partition)));
            return found;
        }
    }

    /** What a worker gives to a task. */
    private record Context(Map<String, String> configs, OffsetStorageReader offsetStorageReader)
        implements SourceTaskContext {
        @Override
        public PluginMetrics pluginMetrics() {
            throw new UnsupportedOperationException();
        }
    }

    private static volatile boolean running = true;

    private static void print(SourceRecord record) throws IOException {
        var line = MAPPER.createObjectNode();
        line.put("topic", record.topic());
        line.set("key", MAPPER.valueToTree(record.key()));
        line.set("value", MAPPER.valueToTree(record.value()));
        line.set("offset", MAPPER.valueToTree(record.sourceOffset()));
        OUT.println(line);
        OUT.flush();
    }

    /** Fails if the connector does not accept the properties: it asks the server about the rights of the user, too. */
    private static void validate(Map<String, String> properties) {
        for (var value : new MongoSourceConnector().validate(properties).configValues()) {
            if (!value.errorMessages().isEmpty()) {
                throw new IllegalArgumentException(value.name() + ": " + value.errorMessages());
            }
        }
    }

    private static void poll(MongoSourceTask task, Offsets offsets, int flush) throws IOException {
        int since = 0;
        while (running) {
            var records = task.poll();
            if (records == null) {
                continue;
            }
            for (var record : records) {
                print(record);
                task.commitRecord(record, null);
                since++;
                if (flush > 0 && since % flush == 0) {
                    offsets.store(record);
                }
            }
            if (flush == 0 && !records.isEmpty()) {
                offsets.store(records.get(records.size() - 1));
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        // What libraries print belongs to the log.
        System.setOut(System.err);
        var read = new Properties();
        try (var file = new FileInputStream(arguments[0])) {
            read.load(file);
        }
        var properties = new HashMap<String, String>();
        read.forEach((name, value) -> properties.put((String) name, (String) value));
        int flush = Integer.parseInt(properties.getOrDefault("flush", "0"));
        var offsets = new Offsets(new File(properties.remove("offsets")));
        properties.remove("flush");
        validate(properties);
        var task = new MongoSourceTask();
        task.initialize(new Context(properties, offsets));
        task.start(properties);
        var ending = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // Only the end of the input matters.
                }
            } catch (IOException error) {
                error.printStackTrace();
            }
            running = false;
        });
        ending.setDaemon(true);
        ending.start();
        try {
            poll(task, offsets, flush);
        } catch (Throwable error) {
            System.err.println("the task has failed: " + error);
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        task.stop();
    }
}
