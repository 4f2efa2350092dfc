import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.http.StreamResponse;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionChunk;
import com.openai.models.chat.completions.ChatCompletionContentPart;
import com.openai.models.chat.completions.ChatCompletionContentPartImage;
import com.openai.models.chat.completions.ChatCompletionContentPartText;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionMessage;
import com.openai.models.chat.completions.ChatCompletionMessageToolCall;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.completions.CompletionUsage;
import com.openai.models.models.Model;
import java.util.Iterator;
import java.util.List;

/** The chat endpoint by the vendor's own SDK. */
final class OpenAiChat implements Driver.Client {
  @JsonTypeName("get_weather")
  @JsonClassDescription("The weather of a city")
  public static final class GetWeather {
    public String city;
  }

  private final Driver.Order order;
  private final OpenAIClient client;

  OpenAiChat(Driver.Order order) {
    this.order = order;
    client = clientOf(order);
  }

  static OpenAIClient clientOf(Driver.Order order) {
    return OpenAIOkHttpClient.builder().baseUrl(order.baseUrl() + "/v1").apiKey(order.key()).build();
  }

  static Driver.Report modelsOf(OpenAIClient client) {
    List<String> ids = client.models().list().data().stream().map(Model::id).toList();
    return Driver.Report.models(ids);
  }

  private ChatCompletionCreateParams.Builder params() {
    return ChatCompletionCreateParams.builder().model(order.model());
  }

  private static String textOf(ChatCompletion answer) {
    return answer.choices().get(0).message().content().orElse("");
  }

  private static Driver.Usage usageOf(CompletionUsage usage) {
    return new Driver.Usage(usage.promptTokens(), usage.completionTokens());
  }

  @Override
  public Driver.Report list() {
    return modelsOf(client);
  }

  @Override
  public Driver.Report ask() {
    ChatCompletion answer =
        client.chat().completions().create(params().addUserMessage(order.prompt()).build());
    return Driver.Report.text(textOf(answer), answer.usage().map(OpenAiChat::usageOf).orElse(null));
  }

  @Override
  public Driver.Report stream() {
    Driver.Reader reader = new Driver.Reader(order);
    Driver.Usage usage = null;
    ChatCompletionCreateParams params =
        params()
            .addUserMessage(order.prompt())
            .streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build())
            .build();
    try (StreamResponse<ChatCompletionChunk> stream =
        client.chat().completions().createStreaming(params)) {
      for (Iterator<ChatCompletionChunk> chunks = stream.stream().iterator(); chunks.hasNext(); ) {
        ChatCompletionChunk chunk = chunks.next();
        if (chunk.usage().isPresent()) usage = usageOf(chunk.usage().get());
        String piece =
            chunk.choices().isEmpty() ? "" : chunk.choices().get(0).delta().content().orElse("");
        if (reader.take(piece)) break;
      }
    }
    return reader.report(usage);
  }

  @Override
  public Driver.Report tools() {
    Driver.Weather weather = new Driver.Weather();
    ChatCompletionCreateParams.Builder params =
        params().addUserMessage(order.prompt()).addTool(GetWeather.class);
    ChatCompletionMessage first =
        client.chat().completions().create(params.build()).choices().get(0).message();
    params.addMessage(first);
    for (ChatCompletionMessageToolCall call : first.toolCalls().orElse(List.of())) {
      GetWeather input = call.asFunction().function().arguments(GetWeather.class);
      params.addMessage(
          ChatCompletionToolMessageParam.builder()
              .toolCallId(call.asFunction().id())
              .content(weather.run(input.city))
              .build());
    }
    return Driver.Report.called(textOf(client.chat().completions().create(params.build())), weather);
  }

  @Override
  public Driver.Report structured() {
    var params = params().addUserMessage(order.prompt()).responseFormat(Place.class).build();
    Place place =
        client.chat().completions().create(params).choices().get(0).message().content().get();
    return Driver.Report.value(new Driver.Place(place.city, place.people));
  }

  public static final class Place {
    public String city;
    public int people;
  }

  @Override
  public Driver.Report image() {
    ChatCompletionContentPart text =
        ChatCompletionContentPart.ofText(
            ChatCompletionContentPartText.builder().text(order.prompt()).build());
    ChatCompletionContentPart picture =
        ChatCompletionContentPart.ofImageUrl(
            ChatCompletionContentPartImage.builder()
                .imageUrl(
                    ChatCompletionContentPartImage.ImageUrl.builder().url(Driver.IMAGE_URL).build())
                .build());
    ChatCompletionCreateParams params =
        params().addUserMessageOfArrayOfContentParts(List.of(text, picture)).build();
    return Driver.Report.text(textOf(client.chat().completions().create(params)), null);
  }
}
