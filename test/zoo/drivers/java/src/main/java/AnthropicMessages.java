import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.core.http.StreamResponse;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.Base64ImageSource;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.ImageBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.RawMessageStreamEvent;
import com.anthropic.models.messages.TextBlockParam;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.anthropic.models.messages.ToolUseBlock;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The messages endpoint by the vendor's own SDK. */
final class AnthropicMessages implements Driver.Client {
  private static final Tool GET_WEATHER =
      Tool.builder()
          .name("get_weather")
          .description("The weather of a city")
          .inputSchema(
              Tool.InputSchema.builder()
                  .properties(
                      Tool.InputSchema.Properties.builder()
                          .putAdditionalProperty("city", JsonValue.from(Map.of("type", "string")))
                          .build())
                  .addRequired("city")
                  .build())
          .build();

  private final Driver.Order order;
  private final AnthropicClient client;

  AnthropicMessages(Driver.Order order) {
    this.order = order;
    client = AnthropicOkHttpClient.builder().baseUrl(order.baseUrl()).apiKey(order.key()).build();
  }

  private MessageCreateParams.Builder params() {
    return MessageCreateParams.builder().model(order.model()).maxTokens(1000);
  }

  private static String textOf(Message message) {
    return message.content().stream()
        .flatMap(block -> block.text().stream())
        .map(text -> text.text())
        .collect(Collectors.joining());
  }

  private static Driver.Usage usageOf(Message message) {
    return new Driver.Usage(message.usage().inputTokens(), message.usage().outputTokens());
  }

  @Override
  public Driver.Report list() {
    return Driver.Report.models(
        client.models().list().data().stream().map(model -> model.id()).toList());
  }

  @Override
  public Driver.Report ask() {
    Message message = client.messages().create(params().addUserMessage(order.prompt()).build());
    return Driver.Report.text(textOf(message), usageOf(message));
  }

  @Override
  public Driver.Report stream() {
    Driver.Reader reader = new Driver.Reader(order);
    MessageAccumulator whole = MessageAccumulator.create();
    try (StreamResponse<RawMessageStreamEvent> stream =
        client.messages().createStreaming(params().addUserMessage(order.prompt()).build())) {
      for (Iterator<RawMessageStreamEvent> events = stream.stream().iterator(); events.hasNext(); ) {
        RawMessageStreamEvent event = whole.accumulate(events.next());
        String piece =
            event
                .contentBlockDelta()
                .flatMap(delta -> delta.delta().text())
                .map(text -> text.text())
                .orElse("");
        if (reader.take(piece)) return reader.report(null);
      }
    }
    return reader.report(usageOf(whole.message()));
  }

  @Override
  public Driver.Report tools() {
    Driver.Weather weather = new Driver.Weather();
    MessageCreateParams.Builder params =
        params().addUserMessage(order.prompt()).addTool(GET_WEATHER);
    Message first = client.messages().create(params.build());
    List<ContentBlockParam> results =
        first.content().stream()
            .flatMap(block -> block.toolUse().stream())
            .map(use -> resultOf(use, weather))
            .toList();
    params.addMessage(first).addUserMessageOfContentBlockParams(results);
    return Driver.Report.called(textOf(client.messages().create(params.build())), weather);
  }

  private static String cityOf(ToolUseBlock use) {
    Map<?, ?> input = use._input().convert(Map.class);
    return String.valueOf(input.get("city"));
  }

  private static ContentBlockParam resultOf(ToolUseBlock use, Driver.Weather weather) {
    return ContentBlockParam.ofToolResult(
        ToolResultBlockParam.builder()
            .toolUseId(use.id())
            .content(weather.run(cityOf(use)))
            .build());
  }

  @Override
  public Driver.Report structured() {
    var params = params().addUserMessage(order.prompt()).outputConfig(OpenAiChat.Place.class).build();
    OpenAiChat.Place place =
        client.messages().create(params).content().stream()
            .flatMap(block -> block.text().stream())
            .findFirst()
            .get()
            .text();
    return Driver.Report.value(new Driver.Place(place.city, place.people));
  }

  @Override
  public Driver.Report image() {
    ContentBlockParam picture =
        ContentBlockParam.ofImage(
            ImageBlockParam.builder()
                .source(
                    Base64ImageSource.builder()
                        .mediaType(Base64ImageSource.MediaType.IMAGE_PNG)
                        .data(Driver.IMAGE)
                        .build())
                .build());
    ContentBlockParam text =
        ContentBlockParam.ofText(TextBlockParam.builder().text(order.prompt()).build());
    MessageCreateParams params =
        params().addUserMessageOfContentBlockParams(List.of(picture, text)).build();
    return Driver.Report.text(textOf(client.messages().create(params)), null);
  }
}
