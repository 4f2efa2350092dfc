import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Plays orders with the Java clients: a line of JSON in, a line of JSON out. */
public final class Driver {
  static final ObjectMapper JSON =
      new ObjectMapper().setSerializationInclusion(JsonInclude.Include.NON_NULL);

  static final String IMAGE =
      "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO"
          + "9TXL0Y4OHwAAAABJRU5ErkJggg==";
  static final String IMAGE_URL = "data:image/png;base64," + IMAGE;

  record Order(
      String client,
      String operation,
      String baseUrl,
      String key,
      String model,
      String prompt,
      boolean cancel) {}

  record Usage(long input, long output) {}

  record Failure(Integer status, String message) {}

  record Report(
      String text,
      Integer pieces,
      List<String> called,
      Object value,
      List<String> models,
      Usage usage,
      Failure error,
      Boolean missing) {

    static Report text(String text, Usage usage) {
      return new Report(text, null, null, null, null, usage, null, null);
    }

    static Report called(String text, Weather weather) {
      return new Report(text, null, weather.called, null, null, null, null, null);
    }

    static Report value(Object value) {
      return new Report(null, null, null, value, null, null, null, null);
    }

    static Report models(List<String> models) {
      return new Report(null, null, null, null, models, null, null, null);
    }

    static Report absent() {
      return new Report(null, null, null, null, null, null, null, true);
    }
  }

  public record Place(String city, int people) {}

  /** Runs calls of the weather tool and notes them. */
  static final class Weather {
    final List<String> called = new ArrayList<>();

    String run(String city) {
      called.add("get_weather(" + city + ")");
      return "7 degrees in " + city;
    }
  }

  /** Adds up a stream; {@code take} says whether the order is to leave it now. */
  static final class Reader {
    private final boolean cancel;
    private final StringBuilder text = new StringBuilder();
    private int pieces;

    Reader(Order order) {
      cancel = order.cancel();
    }

    synchronized boolean take(String piece) {
      if (piece != null && !piece.isEmpty()) {
        text.append(piece);
        pieces++;
      }
      return cancel && pieces > 0;
    }

    synchronized Report report(Usage usage) {
      return new Report(text.toString(), pieces, null, null, null, usage, null, null);
    }
  }

  /** The operations of a library; one that it lacks returns {@link Report#absent}. */
  interface Client {
    default Report list() throws Exception {
      return Report.absent();
    }

    Report ask() throws Exception;

    Report stream() throws Exception;

    Report tools() throws Exception;

    Report structured() throws Exception;

    Report image() throws Exception;
  }

  private static Client connect(Order order) {
    return switch (order.client()) {
      case "com.openai:openai-java chat" -> new OpenAiChat(order);
      case "com.openai:openai-java responses" -> new OpenAiResponses(order);
      case "com.anthropic:anthropic-java messages" -> new AnthropicMessages(order);
      default -> new LangChain4j(order);
    };
  }

  private static Report play(Order order) throws Exception {
    Client client = connect(order);
    return switch (order.operation()) {
      case "list" -> client.list();
      case "ask" -> client.ask();
      case "stream" -> client.stream();
      case "tools" -> client.tools();
      case "structured" -> client.structured();
      default -> client.image();
    };
  }

  private static Report settle(Order order) {
    try {
      return play(order);
    } catch (Throwable error) {
      StringBuilder words = new StringBuilder();
      for (Throwable cause = error; cause != null && words.length() < 600; cause = cause.getCause()) {
        words.append(cause).append(" <- ");
      }
      Failure failure = new Failure(null, words.toString());
      return new Report(null, null, null, null, null, null, failure, null);
    }
  }

  public static void main(String[] args) throws Exception {
    // Libraries print; the reports have the output for themselves.
    PrintStream out = System.out;
    System.setOut(System.err);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Report report = settle(JSON.readValue(line, Order.class));
      out.println(JSON.writeValueAsString(Map.of("report", report)));
      out.flush();
    }
    System.exit(0);
  }
}
