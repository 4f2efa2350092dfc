//! Plays orders with the Rust clients: a line of JSON in, a line of JSON out.

mod async_openai_client;
mod genai_client;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::BufRead;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    client: String,
    operation: String,
    base_url: String,
    key: String,
    model: String,
    prompt: String,
    cancel: bool,
}

#[derive(Default, Serialize)]
pub struct Report {
    text: String,
    pieces: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    called: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    missing: bool,
}

pub type Done = Result<Report, Box<dyn std::error::Error + Send + Sync>>;

pub fn missing() -> Done {
    Ok(Report { missing: true, ..Default::default() })
}

pub fn said(text: impl Into<String>) -> Report {
    Report { text: text.into(), ..Default::default() }
}

pub const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";

pub fn image_url() -> String {
    format!("data:image/png;base64,{IMAGE}")
}

pub fn weather_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false
    })
}

pub fn place_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "people": { "type": "integer" } },
        "required": ["city", "people"],
        "additionalProperties": false
    })
}

/// Runs calls of the weather tool and notes them.
#[derive(Default)]
pub struct Weather {
    pub called: Vec<String>,
}

impl Weather {
    pub fn run(&mut self, input: &Value) -> String {
        let city = input["city"].as_str().unwrap_or("nowhere").to_string();
        self.called.push(format!("get_weather({city})"));
        format!("7 degrees in {city}")
    }
}

async fn play(order: &Order) -> Done {
    match order.client.as_str() {
        "async-openai chat" => async_openai_client::chat(order).await,
        "async-openai responses" => async_openai_client::responses(order).await,
        _ => genai_client::play(order).await,
    }
}

fn failure(error: &(dyn std::error::Error + 'static)) -> Report {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        words = format!("{words} <- {next}");
        cause = next.source();
    }
    let message: String = words.chars().take(600).collect();
    Report { error: Some(json!({ "message": message })), ..Default::default() }
}

#[tokio::main]
async fn main() {
    for line in std::io::stdin().lock().lines() {
        let order: Order = serde_json::from_str(&line.expect("a line")).expect("an order");
        let report = play(&order).await.unwrap_or_else(|error| failure(error.as_ref()));
        println!("{{\"report\":{}}}", serde_json::to_string(&report).expect("JSON"));
    }
}
