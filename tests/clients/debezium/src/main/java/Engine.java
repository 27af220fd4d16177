import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Runs Debezium's engine with the properties of a file. Each record is a line of JSON on standard output. The engine
 * ends when standard input does.
 */
public final class Engine {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final PrintStream OUT = System.out;

    private static JsonNode json(JsonConverter converter, Schema schema, Object value) {
        try {
            return value == null ? MAPPER.nullNode() : MAPPER.readTree(converter.fromConnectData("", schema, value));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void print(JsonConverter keys, JsonConverter values, SourceRecord record) {
        var line = MAPPER.createObjectNode();
        line.put("topic", record.topic());
        line.set("key", json(keys, record.keySchema(), record.key()));
        line.set("value", json(values, record.valueSchema(), record.value()));
        line.set("offset", MAPPER.valueToTree(record.sourceOffset()));
        OUT.println(line);
        OUT.flush();
    }

    public static void main(String[] arguments) throws Exception {
        // What libraries print belongs to the log.
        System.setOut(System.err);
        var properties = new Properties();
        try (var file = new FileInputStream(arguments[0])) {
            properties.load(file);
        }
        var keys = new JsonConverter();
        var values = new JsonConverter();
        keys.configure(Map.of("schemas.enable", false), true);
        values.configure(Map.of("schemas.enable", false), false);
        DebeziumEngine<RecordChangeEvent<SourceRecord>> engine = DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
            .using(properties)
            .using((success, message, error) -> {
                if (!success) {
                    System.err.println("the engine has failed: " + message + ": " + error);
                    Runtime.getRuntime().halt(1);
                }
            })
            .notifying(event -> print(keys, values, event.record()))
            .build();
        var running = new Thread(engine);
        running.start();
        while (System.in.read() >= 0) {
            // Only the end of the input matters.
        }
        engine.close();
        running.join();
    }
}
