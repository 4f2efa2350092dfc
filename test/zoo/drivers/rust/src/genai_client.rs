use crate::{Done, IMAGE, Order, Report, Weather, missing, place_schema, said, weather_schema};
use futures::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, ChatStreamEvent, ContentPart, JsonSpec,
    Tool, ToolResponse, Usage,
};
use genai::resolver::{AuthData, Endpoint, ServiceTargetResolver};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};

fn client_of(order: &Order) -> Result<Client, genai::Error> {
    let is_messages = order.client.ends_with("messages");
    let kind = if is_messages { AdapterKind::Anthropic } else { AdapterKind::OpenAI };
    let base = format!("{}/v1/", order.base_url);
    let key = order.key.clone();
    let resolver = ServiceTargetResolver::from_resolver_fn(
        move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
            Ok(ServiceTarget {
                endpoint: Endpoint::from_owned(base.clone()),
                auth: AuthData::from_single(key.clone()),
                model: ModelIden::new(kind, target.model.model_name),
            })
        },
    );
    Client::builder().with_service_target_resolver(resolver).build()
}

fn usage_of(usage: &Usage) -> Option<Value> {
    let input = usage.prompt_tokens.filter(|count| *count > 0)?;
    Some(json!({ "input": input, "output": usage.completion_tokens }))
}

pub async fn play(order: &Order) -> Done {
    let client = client_of(order)?;
    let model = order.model.as_str();
    let asked = ChatRequest::new(vec![ChatMessage::user(order.prompt.as_str())]);
    match order.operation.as_str() {
        "ask" => {
            let answer = client.exec_chat(model, asked, None).await?;
            let usage = usage_of(&answer.usage);
            Ok(Report { usage, ..said(answer.first_text().unwrap_or_default()) })
        }
        "stream" => stream(order, &client, asked).await,
        "tools" => {
            let mut weather = Weather::default();
            // Without a description it sends null, which OpenAI's types do not allow.
            let tool = Tool::new("get_weather")
                .with_description("The weather of a city")
                .with_schema(weather_schema());
            let asked = asked.with_tools(vec![tool]);
            let calls = client.exec_chat(model, asked.clone(), None).await?.into_tool_calls();
            let results: Vec<ToolResponse> = calls
                .iter()
                .map(|call| ToolResponse::new(call.call_id.clone(), weather.run(&call.fn_arguments)))
                .collect();
            let mut next = asked.append_message(calls);
            for result in results {
                next = next.append_message(result);
            }
            let last = client.exec_chat(model, next, None).await?;
            Ok(Report { called: weather.called, ..said(last.first_text().unwrap_or_default()) })
        }
        "structured" => {
            let spec = JsonSpec::new("place", place_schema());
            let format = ChatResponseFormat::JsonSpec(spec);
            let options = ChatOptions::default().with_response_format(format);
            let answer = client.exec_chat(model, asked, Some(&options)).await?;
            let value = serde_json::from_str(answer.first_text().unwrap_or_default())?;
            Ok(Report { value: Some(value), ..Default::default() })
        }
        "image" => {
            let parts = vec![
                ContentPart::from_text(order.prompt.as_str()),
                ContentPart::from_binary_base64("image/png", IMAGE, None),
            ];
            let request = ChatRequest::new(vec![ChatMessage::user(parts)]);
            let answer = client.exec_chat(model, request, None).await?;
            Ok(said(answer.first_text().unwrap_or_default()))
        }
        _ => missing(),
    }
}

async fn stream(order: &Order, client: &Client, asked: ChatRequest) -> Done {
    let options = ChatOptions::default().with_capture_usage(true);
    let mut events = client.exec_chat_stream(&order.model, asked, Some(&options)).await?.stream;
    let mut report = Report::default();
    while let Some(event) = events.next().await {
        match event? {
            ChatStreamEvent::Chunk(chunk) => {
                report.text.push_str(&chunk.content);
                report.pieces += 1;
                // Dropping the stream ends the request.
                if order.cancel {
                    return Ok(report);
                }
            }
            ChatStreamEvent::End(end) => {
                report.usage = end.captured_usage.as_ref().and_then(usage_of);
            }
            _ => {}
        }
    }
    Ok(report)
}
