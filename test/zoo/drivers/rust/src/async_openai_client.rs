use crate::{Done, Order, Report, Weather, image_url, missing, place_schema, said, weather_schema};
use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{CreateChatCompletionRequest, CreateChatCompletionResponse};
use async_openai::types::responses::{CreateResponse, OutputItem, Response, ResponseStreamEvent};
use futures::StreamExt;
use serde_json::{Value, json};

fn client_of(order: &Order) -> Client<OpenAIConfig> {
    let base = format!("{}/v1", order.base_url);
    Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key(&order.key))
}

async fn models(order: &Order) -> Done {
    let list = client_of(order).models().list().await?;
    let models = list.data.into_iter().map(|model| model.id).collect();
    Ok(Report { models: Some(models), ..Default::default() })
}

/// The library's own types read the request, so that what it cannot say does not leave.
async fn complete(
    order: &Order,
    messages: &[Value],
    more: Value,
) -> Result<CreateChatCompletionResponse, Box<dyn std::error::Error + Send + Sync>> {
    let mut body = json!({ "model": order.model, "messages": messages });
    merge(&mut body, more);
    let request: CreateChatCompletionRequest = serde_json::from_value(body)?;
    Ok(client_of(order).chat().create(request).await?)
}

fn merge(body: &mut Value, more: Value) {
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
}

fn text_of(answer: &CreateChatCompletionResponse) -> String {
    answer.choices[0].message.content.clone().unwrap_or_default()
}

pub async fn chat(order: &Order) -> Done {
    let asked = vec![json!({ "role": "user", "content": order.prompt })];
    match order.operation.as_str() {
        "list" => models(order).await,
        "ask" => {
            let answer = complete(order, &asked, json!({})).await?;
            let usage = answer
                .usage
                .as_ref()
                .map(|usage| json!({ "input": usage.prompt_tokens, "output": usage.completion_tokens }));
            Ok(Report { usage, ..said(text_of(&answer)) })
        }
        "stream" => stream_chat(order, &asked).await,
        "tools" => {
            let mut weather = Weather::default();
            let function = json!({ "name": "get_weather", "parameters": weather_schema() });
            let tools = json!({ "tools": [{ "type": "function", "function": function }] });
            let first = complete(order, &asked, tools.clone()).await?;
            let message = serde_json::to_value(&first.choices[0].message)?;
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            let mut messages = [asked, vec![message]].concat();
            for call in calls {
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                let content = weather.run(&serde_json::from_str(arguments)?);
                messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": content }));
            }
            let last = complete(order, &messages, tools).await?;
            Ok(Report { called: weather.called, ..said(text_of(&last)) })
        }
        "structured" => {
            let schema = json!({ "name": "place", "strict": true, "schema": place_schema() });
            let format = json!({ "type": "json_schema", "json_schema": schema });
            let answer = complete(order, &asked, json!({ "response_format": format })).await?;
            Ok(Report { value: Some(serde_json::from_str(&text_of(&answer))?), ..Default::default() })
        }
        "image" => {
            let parts = json!([
                { "type": "text", "text": order.prompt },
                { "type": "image_url", "image_url": { "url": image_url() } }
            ]);
            let message = json!({ "role": "user", "content": parts });
            Ok(said(text_of(&complete(order, &[message], json!({})).await?)))
        }
        _ => missing(),
    }
}

async fn stream_chat(order: &Order, messages: &[Value]) -> Done {
    let body = json!({
        "model": order.model,
        "messages": messages,
        "stream": true,
        "stream_options": { "include_usage": true }
    });
    let request: CreateChatCompletionRequest = serde_json::from_value(body)?;
    let mut stream = client_of(order).chat().create_stream(request).await?;
    let mut report = Report::default();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk?;
        if let Some(usage) = &chunk.usage {
            let (input, output) = (usage.prompt_tokens, usage.completion_tokens);
            report.usage = Some(json!({ "input": input, "output": output }));
        }
        let piece = chunk.choices.first().and_then(|choice| choice.delta.content.clone());
        if take(&mut report, order, piece.as_deref().unwrap_or_default()) {
            return Ok(report);
        }
    }
    Ok(report)
}

/// Whether the order is to leave the stream now: dropping it ends the request.
fn take(report: &mut Report, order: &Order, piece: &str) -> bool {
    if !piece.is_empty() {
        report.text.push_str(piece);
        report.pieces += 1;
    }
    order.cancel && report.pieces > 0
}

async fn respond(
    order: &Order,
    input: Value,
    more: Value,
) -> Result<Response, Box<dyn std::error::Error + Send + Sync>> {
    let mut body = json!({ "model": order.model, "input": input });
    merge(&mut body, more);
    let request: CreateResponse = serde_json::from_value(body)?;
    Ok(client_of(order).responses().create(request).await?)
}

pub async fn responses(order: &Order) -> Done {
    let asked = json!({ "role": "user", "content": order.prompt });
    match order.operation.as_str() {
        "list" => models(order).await,
        "ask" => {
            let response = respond(order, json!([asked]), json!({})).await?;
            let usage = response
                .usage
                .as_ref()
                .map(|usage| json!({ "input": usage.input_tokens, "output": usage.output_tokens }));
            Ok(Report { usage, ..said(response.output_text().unwrap_or_default()) })
        }
        "stream" => stream_response(order, asked).await,
        "tools" => {
            let mut weather = Weather::default();
            let tool = json!({
                "type": "function", "name": "get_weather", "strict": true, "parameters": weather_schema()
            });
            let tools = json!({ "tools": [tool] });
            let first = respond(order, json!([asked]), tools.clone()).await?;
            let mut input = vec![asked];
            for item in &first.output {
                input.push(serde_json::to_value(item)?);
                if let OutputItem::FunctionCall(call) = item {
                    let output = weather.run(&serde_json::from_str(&call.arguments)?);
                    let kind = "function_call_output";
                    input.push(json!({ "type": kind, "call_id": call.call_id, "output": output }));
                }
            }
            let last = respond(order, Value::Array(input), tools).await?;
            Ok(Report { called: weather.called, ..said(last.output_text().unwrap_or_default()) })
        }
        "structured" => {
            let format = json!({
                "type": "json_schema", "name": "place", "strict": true, "schema": place_schema()
            });
            let more = json!({ "text": { "format": format } });
            let text = respond(order, json!([asked]), more).await?.output_text().unwrap_or_default();
            Ok(Report { value: Some(serde_json::from_str(&text)?), ..Default::default() })
        }
        "image" => {
            let parts = json!([
                { "type": "input_text", "text": order.prompt },
                { "type": "input_image", "image_url": image_url(), "detail": "auto" }
            ]);
            let message = json!({ "role": "user", "content": parts });
            let response = respond(order, json!([message]), json!({})).await?;
            Ok(said(response.output_text().unwrap_or_default()))
        }
        _ => missing(),
    }
}

async fn stream_response(order: &Order, asked: Value) -> Done {
    let body = json!({ "model": order.model, "input": [asked], "stream": true });
    let request: CreateResponse = serde_json::from_value(body)?;
    let mut stream = client_of(order).responses().create_stream(request).await?;
    let mut report = Report::default();
    while let Some(event) = stream.next().await {
        match event? {
            ResponseStreamEvent::ResponseOutputTextDelta(delta) => {
                if take(&mut report, order, &delta.delta) {
                    return Ok(report);
                }
            }
            ResponseStreamEvent::ResponseCompleted(completed) => {
                let usage = completed.response.usage;
                report.usage = usage
                    .map(|usage| json!({ "input": usage.input_tokens, "output": usage.output_tokens }));
            }
            // The library hands the failure over as an event; programs look at it.
            ResponseStreamEvent::ResponseFailed(failed) => {
                return Err(format!("{:?}", failed.response.error).into());
            }
            ResponseStreamEvent::ResponseError(error) => return Err(error.message.into()),
            _ => {}
        }
    }
    Ok(report)
}
