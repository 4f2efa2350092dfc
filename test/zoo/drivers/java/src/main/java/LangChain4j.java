import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.anthropic.AnthropicStreamingChatModel;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.model.output.TokenUsage;
import dev.langchain4j.service.AiServices;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Both endpoints by LangChain4j. */
final class LangChain4j implements Driver.Client {
  interface Assistant {
    String chat(String prompt);
  }

  interface Placing {
    Driver.Place place(String prompt);
  }

  private final Driver.Order order;
  private final boolean isMessages;

  LangChain4j(Driver.Order order) {
    this.order = order;
    isMessages = order.client().endsWith("messages");
  }

  private ChatModel model() {
    if (isMessages) {
      return AnthropicChatModel.builder()
          .baseUrl(order.baseUrl() + "/v1")
          .apiKey(order.key())
          .modelName(order.model())
          .build();
    }
    return OpenAiChatModel.builder()
        .baseUrl(order.baseUrl() + "/v1")
        .apiKey(order.key())
        .modelName(order.model())
        .supportedCapabilities(Set.of(Capability.RESPONSE_FORMAT_JSON_SCHEMA))
        .strictJsonSchema(true)
        .build();
  }

  private StreamingChatModel streaming() {
    if (isMessages) {
      return AnthropicStreamingChatModel.builder()
          .baseUrl(order.baseUrl() + "/v1")
          .apiKey(order.key())
          .modelName(order.model())
          .build();
    }
    return OpenAiStreamingChatModel.builder()
        .baseUrl(order.baseUrl() + "/v1")
        .apiKey(order.key())
        .modelName(order.model())
        .build();
  }

  private static Driver.Usage usageOf(TokenUsage usage) {
    if (usage == null || usage.inputTokenCount() == null) return null;
    return new Driver.Usage(usage.inputTokenCount(), usage.outputTokenCount());
  }

  @Override
  public Driver.Report ask() {
    ChatResponse response = model().chat(UserMessage.from(order.prompt()));
    return Driver.Report.text(response.aiMessage().text(), usageOf(response.tokenUsage()));
  }

  @Override
  public Driver.Report stream() throws Exception {
    // Its handler cannot end a stream in this form of the call.
    if (order.cancel()) return Driver.Report.absent();
    Driver.Reader reader = new Driver.Reader(order);
    CompletableFuture<ChatResponse> end = new CompletableFuture<>();
    streaming()
        .chat(
            order.prompt(),
            new StreamingChatResponseHandler() {
              @Override
              public void onPartialResponse(String piece) {
                reader.take(piece);
              }

              @Override
              public void onCompleteResponse(ChatResponse response) {
                end.complete(response);
              }

              @Override
              public void onError(Throwable error) {
                end.completeExceptionally(error);
              }
            });
    return reader.report(usageOf(end.get(30, TimeUnit.SECONDS).tokenUsage()));
  }

  public static final class Tools {
    private final Driver.Weather weather;

    Tools(Driver.Weather weather) {
      this.weather = weather;
    }

    @Tool(name = "get_weather", value = "The weather of a city")
    public String weather(@P(name = "city", value = "the city") String city) {
      return weather.run(city);
    }
  }

  @Override
  public Driver.Report tools() {
    Driver.Weather weather = new Driver.Weather();
    Assistant assistant =
        AiServices.builder(Assistant.class).chatModel(model()).tools(new Tools(weather)).build();
    return Driver.Report.called(assistant.chat(order.prompt()), weather);
  }

  @Override
  public Driver.Report structured() {
    if (isMessages) return Driver.Report.absent();
    return Driver.Report.value(AiServices.create(Placing.class, model()).place(order.prompt()));
  }

  @Override
  public Driver.Report image() {
    UserMessage message =
        UserMessage.from(
            TextContent.from(order.prompt()), ImageContent.from(Driver.IMAGE, "image/png"));
    return Driver.Report.text(model().chat(message).aiMessage().text(), null);
  }
}
