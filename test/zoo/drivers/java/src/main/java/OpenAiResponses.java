import com.openai.client.OpenAIClient;
import com.openai.core.http.StreamResponse;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseFunctionToolCall;
import com.openai.models.responses.ResponseInputContent;
import com.openai.models.responses.ResponseInputImage;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseInputText;
import com.openai.models.responses.ResponseOutputItem;
import com.openai.models.responses.ResponseStreamEvent;
import com.openai.models.responses.ResponseUsage;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;

/** The Responses endpoint by the vendor's own SDK. */
final class OpenAiResponses implements Driver.Client {
  private final Driver.Order order;
  private final OpenAIClient client;

  OpenAiResponses(Driver.Order order) {
    this.order = order;
    client = OpenAiChat.clientOf(order);
  }

  private ResponseCreateParams.Builder params() {
    return ResponseCreateParams.builder().model(order.model());
  }

  private static String textOf(Response response) {
    return response.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(content -> content.outputText().stream())
        .map(text -> text.text())
        .collect(Collectors.joining());
  }

  private static Driver.Usage usageOf(ResponseUsage usage) {
    return new Driver.Usage(usage.inputTokens(), usage.outputTokens());
  }

  @Override
  public Driver.Report list() {
    return OpenAiChat.modelsOf(client);
  }

  @Override
  public Driver.Report ask() {
    Response response = client.responses().create(params().input(order.prompt()).build());
    return Driver.Report.text(
        textOf(response), response.usage().map(OpenAiResponses::usageOf).orElse(null));
  }

  @Override
  public Driver.Report stream() {
    Driver.Reader reader = new Driver.Reader(order);
    Driver.Usage usage = null;
    try (StreamResponse<ResponseStreamEvent> stream =
        client.responses().createStreaming(params().input(order.prompt()).build())) {
      for (Iterator<ResponseStreamEvent> events = stream.stream().iterator(); events.hasNext(); ) {
        ResponseStreamEvent event = events.next();
        // The library hands the failure over as an event; programs look at it.
        if (event.isFailed()) throw new IllegalStateException(event.asFailed().toString());
        if (event.isError()) throw new IllegalStateException(event.asError().message());
        if (event.isCompleted()) {
          usage = event.asCompleted().response().usage().map(OpenAiResponses::usageOf).orElse(null);
        }
        if (event.isOutputTextDelta() && reader.take(event.asOutputTextDelta().delta())) break;
      }
    }
    return reader.report(usage);
  }

  @Override
  public Driver.Report tools() {
    Driver.Weather weather = new Driver.Weather();
    List<ResponseInputItem> input = new ArrayList<>();
    input.add(message(List.of(text())));
    ResponseCreateParams.Builder params = params().addTool(OpenAiChat.GetWeather.class);
    Response first = client.responses().create(params.inputOfResponse(input).build());
    for (ResponseOutputItem item : first.output()) {
      if (!item.isFunctionCall()) continue;
      ResponseFunctionToolCall call = item.asFunctionCall();
      input.add(ResponseInputItem.ofFunctionCall(call));
      input.add(
          ResponseInputItem.ofFunctionCallOutput(
              ResponseInputItem.FunctionCallOutput.builder()
                  .callId(call.callId())
                  .output(weather.run(call.arguments(OpenAiChat.GetWeather.class).city))
                  .build()));
    }
    Response last = client.responses().create(params.inputOfResponse(input).build());
    return Driver.Report.called(textOf(last), weather);
  }

  @Override
  public Driver.Report structured() {
    var params = params().input(order.prompt()).text(OpenAiChat.Place.class).build();
    OpenAiChat.Place place =
        client.responses().create(params).output().stream()
            .flatMap(item -> item.message().stream())
            .flatMap(message -> message.content().stream())
            .flatMap(content -> content.outputText().stream())
            .findFirst()
            .get();
    return Driver.Report.value(new Driver.Place(place.city, place.people));
  }

  private ResponseInputContent text() {
    return ResponseInputContent.ofInputText(
        ResponseInputText.builder().text(order.prompt()).build());
  }

  private static ResponseInputItem message(List<ResponseInputContent> parts) {
    return ResponseInputItem.ofMessage(
        ResponseInputItem.Message.builder()
            .role(ResponseInputItem.Message.Role.USER)
            .content(parts)
            .build());
  }

  @Override
  public Driver.Report image() {
    ResponseInputContent picture =
        ResponseInputContent.ofInputImage(
            ResponseInputImage.builder()
                .detail(ResponseInputImage.Detail.AUTO)
                .imageUrl(Driver.IMAGE_URL)
                .build());
    List<ResponseInputItem> input = List.of(message(List.of(text(), picture)));
    Response response = client.responses().create(params().inputOfResponse(input).build());
    return Driver.Report.text(textOf(response), null);
  }
}
