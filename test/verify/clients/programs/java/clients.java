// The official SDK for Java. It takes the conversations as JSON, reads them into the SDK's own types, and prints what it got.

import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.ObjectMappers;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.errors.AnthropicException;
import com.anthropic.errors.AnthropicServiceException;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCountTokensParams;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.MessageParam;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.models.ModelListParams;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.concurrent.Callable;

class Clients {
  static final JsonMapper json = ObjectMappers.jsonMapper();
  static final AnthropicClient client = AnthropicOkHttpClient.builder().baseUrl(System.getenv("BASE_URL")).apiKey(System.getenv("KEY")).build();
  static final AnthropicClient poor = clientOf(System.getenv("POOR_KEY"));
  static final AnthropicClient stranger = clientOf("sk-tp-nobodyhasthiskey");

  static AnthropicClient clientOf(String key) {
    return AnthropicOkHttpClient.builder().baseUrl(System.getenv("BASE_URL")).apiKey(key).build();
  }

  public static void main(String[] arguments) throws Exception {
    JsonNode given = json.readTree(Files.readString(Path.of(System.getenv("CONVERSATIONS"))));
    for (JsonNode conversation : given.get("conversations")) {
      ObjectNode line = json.createObjectNode();
      line.set("conversation", conversation.get("name"));
      try {
        line.set("got", hold(conversation));
      } catch (Exception fault) {
        line.putObject("got").put("broken", fault.toString());
      }
      System.out.println(json.writeValueAsString(line));
    }
    System.exit(0); // what still waits in the background is not waited for
  }

  static ObjectNode hold(JsonNode conversation) throws Exception {
    JsonNode body = conversation.get("body");
    ObjectNode got = json.createObjectNode();
    switch (conversation.get("name").asText()) {
      case "count":
        MessageCountTokensParams counted = MessageCountTokensParams.builder().body(json.treeToValue(body, MessageCountTokensParams.Body.class)).build();
        return got.put("inputTokens", client.messages().countTokens(counted).inputTokens());
      case "models":
        ArrayNode models = got.putArray("models");
        client.models().list(ModelListParams.builder().limit(5).build()).autoPager().forEach(model -> models.add(model.id()));
        return got;
      case "structured":
        got.set("object", json.readTree(textOf(client.messages().create(paramsOf(body)))));
        return got;
      case "abort":
        return got.put("text", abort(paramsOf(body)));
      case "cut":
        return describe(() -> stream(paramsOf(body)));
      case "refusals":
        JsonNode missing = ((ObjectNode) body.deepCopy()).set("model", conversation.get("missingModel"));
        got.putArray("refusals")
            .add(describe(() -> poor.messages().create(paramsOf(body))))
            .add(describe(() -> client.messages().create(paramsOf(missing))))
            .add(describe(() -> stranger.messages().create(paramsOf(body))));
        return got;
      default:
        return converse(conversation);
    }
  }

  // Turn by turn: tools are answered, then the user says what is next.
  static ObjectNode converse(JsonNode conversation) throws Exception {
    ObjectNode body = conversation.get("body").deepCopy();
    ArrayNode messages = (ArrayNode) body.get("messages");
    Iterator<JsonNode> next = conversation.path("next").iterator();
    while (true) {
      Message message = conversation.path("isStreamed").asBoolean() ? stream(paramsOf(body)) : client.messages().create(paramsOf(body));
      ArrayNode answer = json.createArrayNode();
      message.content().forEach(block -> block.toolUse().ifPresent(call -> {
        ObjectNode result = conversation.get("results").get(call.name()).deepCopy();
        answer.add(result.put("type", "tool_result").put("tool_use_id", call.id()));
      }));
      if (answer.isEmpty() && !next.hasNext()) return gotOf(message);
      MessageParam said = message.toParam();
      messages.add(json.<JsonNode>valueToTree(said));
      messages.addObject().put("role", "user").set("content", answer.isEmpty() ? next.next() : answer);
    }
  }

  static MessageCreateParams paramsOf(JsonNode body) throws Exception {
    return MessageCreateParams.builder().body(json.treeToValue(body, MessageCreateParams.Body.class)).build();
  }

  static Message stream(MessageCreateParams params) {
    MessageAccumulator whole = MessageAccumulator.create();
    try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(params)) {
      events.stream().forEach(whole::accumulate);
    }
    return whole.message();
  }

  static String abort(MessageCreateParams params) {
    StringBuilder text = new StringBuilder();
    try (StreamResponse<RawMessageStreamEvent> events = client.messages().createStreaming(params)) {
      events.stream()
          .peek(event -> event.contentBlockDelta().flatMap(delta -> delta.delta().text()).ifPresent(piece -> text.append(piece.text())))
          .anyMatch(event -> text.length() > 20);
    }
    return text.toString();
  }

  static String textOf(Message message) {
    StringBuilder text = new StringBuilder();
    message.content().forEach(block -> block.text().ifPresent(piece -> text.append(piece.text())));
    return text.toString();
  }

  static ObjectNode gotOf(Message message) {
    ObjectNode got = json.createObjectNode().put("text", textOf(message));
    message.stopReason().ifPresent(reason -> got.put("stopReason", reason.asString()));
    got.putObject("usage")
        .put("input", message.usage().inputTokens())
        .put("cacheRead", message.usage().cacheReadInputTokens().orElse(0L))
        .put("cacheWrite", message.usage().cacheCreationInputTokens().orElse(0L))
        .put("output", message.usage().outputTokens());
    return got;
  }

  static ObjectNode describe(Callable<?> ask) throws Exception {
    ObjectNode described = json.createObjectNode();
    try {
      ask.call();
      return described;
    } catch (AnthropicServiceException fault) {
      JsonNode error = json.<JsonNode>valueToTree(fault.body()).path("error");
      described.put("status", fault.statusCode()).put("code", error.path("code").asText());
      return described.put("fault", fault.getClass().getSimpleName());
    } catch (AnthropicException fault) {
      return described.put("fault", fault.getClass().getSimpleName());
    }
  }
}
