// The Java client as a driver of the interop matrix: lines of JSON in, lines of JSON out (interop_security/coprocess.py).

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

public class Security {
    private static final Pattern FIELD = Pattern.compile("\"(\\w+)\":(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([^,}]+))");

    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, String> asked = parse(line);
            String answer;
            try {
                answer = asked.get("ask").equals("round_trip") ? roundTrip(asked) : rejection(asked);
            } catch (Throwable error) {
                answer = "{\"error\":" + quoted(causes(error)) + "}";
            }
            System.out.println(answer);
            System.out.flush();
        }
    }

    private static String roundTrip(Map<String, String> asked) throws Exception {
        Properties properties = properties(asked);
        String topic = asked.get("topic");
        int records = Integer.parseInt(asked.get("records"));
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int i = 0; i < records; i++) sent.add(producer.send(new ProducerRecord<>(topic, "" + i)));
            for (Future<RecordMetadata> each : sent) each.get(20, TimeUnit.SECONDS);
        }
        List<String> read = new ArrayList<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        boolean listed;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(List.of(topic));
            while (read.size() < records && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    read.add(quoted(record.value()));
                }
            }
            consumer.commitSync();
            listed = consumer.listTopics().containsKey(topic);
        }
        return "{\"read\":[" + String.join(",", read) + "],\"listed\":" + listed + "}";
    }

    private static String rejection(Map<String, String> asked) throws Exception {
        Properties properties = properties(asked);
        double deadline = Double.parseDouble(asked.get("deadline_s"));
        properties.put("default.api.timeout.ms", "" + (long) (deadline * 1000));
        properties.put("request.timeout.ms", "" + (long) (deadline * 500));
        try (Admin admin = Admin.create(properties)) {
            admin.listTopics().names().get((long) (deadline * 1000), TimeUnit.MILLISECONDS);
        } catch (Throwable error) {
            return "{\"rejection\":" + quoted(causes(error)) + "}";
        }
        return "{\"rejection\":\"\"}";
    }

    private static Properties properties(Map<String, String> asked) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", asked.get("servers"));
        properties.put("security.protocol", asked.get("protocol"));
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        properties.put("enable.idempotence", "true");
        properties.put("acks", "all");
        properties.put("group.id", "group-" + asked.get("topic"));
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        if (asked.get("protocol").endsWith("SSL")) {
            properties.put("ssl.truststore.type", "PEM");
            properties.put("ssl.truststore.location", asked.get("ca_file"));
            if (!asked.get("certificate_file").isEmpty()) {
                properties.put("ssl.keystore.type", "PEM");
                properties.put("ssl.keystore.certificate.chain", Files.readString(Path.of(asked.get("certificate_file"))));
                properties.put("ssl.keystore.key", Files.readString(Path.of(asked.get("key_file"))));
            }
        }
        String mechanism = asked.get("mechanism");
        if (!mechanism.isEmpty()) {
            properties.put("sasl.mechanism", mechanism);
            properties.put("sasl.jaas.config", login(mechanism, asked));
        }
        if (mechanism.equals("OAUTHBEARER")) {
            String handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler";
            properties.put("sasl.login.callback.handler.class", handler);
            properties.put("sasl.oauthbearer.token.endpoint.url", asked.get("token_url"));
            properties.put("sasl.oauthbearer.client.credentials.client.id", "interop");
            properties.put("sasl.oauthbearer.client.credentials.client.secret", "interop");
        }
        return properties;
    }

    private static String login(String mechanism, Map<String, String> asked) {
        String common = "org.apache.kafka.common.security.";
        if (mechanism.equals("OAUTHBEARER")) return common + "oauthbearer.OAuthBearerLoginModule required;";
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        return common + module + " required username=\"" + asked.get("user") + "\" password=\"" + asked.get("password") + "\";";
    }

    /** One flat object of strings and numbers. */
    private static Map<String, String> parse(String line) {
        Map<String, String> found = new HashMap<>();
        Matcher matcher = FIELD.matcher(line);
        while (matcher.find()) {
            found.put(matcher.group(1), matcher.group(2) != null ? matcher.group(2) : matcher.group(3).trim());
        }
        return found;
    }

    private static String causes(Throwable error) {
        StringJoiner text = new StringJoiner(" <- ");
        for (Throwable each = error; each != null; each = each.getCause()) text.add(each.toString());
        return text.toString();
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + "\"";
    }
}
