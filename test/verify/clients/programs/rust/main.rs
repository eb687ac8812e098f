// async-openai for Rust. It takes the conversations as JSON, reads them into the crate's own types, and prints what it got.

use std::{env, fs, time::Duration};

use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    types::{
        chat::{CreateChatCompletionRequest, FinishReason},
        embeddings::CreateEmbeddingRequest,
    },
};
use futures::StreamExt;
use serde_json::{Value, from_value, json};

type Fallible = Result<Value, Box<dyn std::error::Error>>;

fn client_of(key: &str) -> Client<OpenAIConfig> {
    let base_url = env::var("BASE_URL").unwrap();
    let config = OpenAIConfig::new().with_api_base(format!("{base_url}/v1")).with_api_key(key);
    Client::with_config(config)
}

#[tokio::main]
async fn main() {
    let text = fs::read_to_string(env::var("CONVERSATIONS").unwrap()).unwrap();
    let given: Value = serde_json::from_str(&text).unwrap();
    for one in given["conversations"].as_array().unwrap() {
        let held = tokio::time::timeout(Duration::from_secs(20), hold(one)).await;
        let got = match held {
            Ok(Ok(got)) => got,
            Ok(Err(fault)) => json!({ "broken": fault.to_string() }),
            Err(_) => json!({ "broken": "it takes too long" }),
        };
        println!("{}", json!({ "conversation": one["name"], "got": got }));
    }
}

async fn hold(one: &Value) -> Fallible {
    let client = client_of(&env::var("KEY")?);
    let chat = &one["chat"];
    match one["name"].as_str().unwrap_or_default() {
        "models" => {
            let models = client.models().list().await?.data;
            Ok(json!({ "models": models.into_iter().map(|model| model.id).collect::<Vec<_>>() }))
        }
        "embeddings" => {
            let asked = json!({ "model": chat["model"], "input": one["body"]["input"] });
            let list = client.embeddings().create(from_value::<CreateEmbeddingRequest>(asked)?).await?;
            Ok(json!({ "vectors": list.data.into_iter().map(|each| each.embedding).collect::<Vec<_>>() }))
        }
        "structured" => {
            let text = ask(&client, chat, false).await?["text"].clone();
            Ok(json!({ "object": serde_json::from_str::<Value>(text.as_str().unwrap_or_default())? }))
        }
        "abort" => abort(&client, chat).await,
        "cut" => Ok(fault_of(ask(&client, chat, true).await)),
        "refusals" => {
            let mut missing = chat.clone();
            missing["model"] = one["missingModel"].clone();
            let poor = client_of(&env::var("POOR_KEY")?);
            let stranger = client_of("sk-tp-nobodyhasthiskey");
            Ok(json!({ "refusals": [
                fault_of(ask(&poor, chat, false).await),
                fault_of(ask(&client, &missing, false).await),
                fault_of(ask(&stranger, chat, false).await),
            ] }))
        }
        _ => converse(&client, one).await,
    }
}

// Turn by turn: tools are answered until there is nothing more to answer.
async fn converse(client: &Client<OpenAIConfig>, one: &Value) -> Fallible {
    let mut chat = one["chat"].clone();
    loop {
        let mut got = ask(client, &chat, one["isStreamed"] == true).await?;
        let calls = got["calls"].take();
        let calls = calls.as_array().cloned().unwrap_or_default();
        if calls.is_empty() {
            return Ok(got);
        }
        let messages = chat["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": got["text"], "tool_calls": calls }));
        for call in &calls {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let content = &one["chatResults"][name];
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": content }));
        }
    }
}

async fn ask(client: &Client<OpenAIConfig>, chat: &Value, is_streamed: bool) -> Result<Value, OpenAIError> {
    let mut asked = chat.clone();
    if !is_streamed {
        let answer = client.chat().create(read(asked)?).await?;
        let choice = &answer.choices[0];
        let message = &choice.message;
        return Ok(got_of(message.content.clone().unwrap_or_default(), json!(message.tool_calls), choice.finish_reason, json!(answer.usage)));
    }
    asked["stream_options"] = json!({ "include_usage": true });
    let mut chunks = client.chat().create_stream(read(asked)?).await?;
    let (mut text, mut calls, mut reason, mut usage) = (String::new(), Vec::<Value>::new(), None, Value::Null);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if chunk.usage.is_some() {
            usage = json!(chunk.usage);
        }
        for choice in chunk.choices {
            reason = choice.finish_reason.or(reason);
            text += choice.delta.content.as_deref().unwrap_or_default();
            for piece in choice.delta.tool_calls.unwrap_or_default() {
                gather(&mut calls, &json!(piece));
            }
        }
    }
    Ok(got_of(text, json!(calls), reason, usage))
}

fn gather(calls: &mut Vec<Value>, piece: &Value) {
    let place = piece["index"].as_u64().unwrap_or_default() as usize;
    if place == calls.len() {
        let named = json!({ "name": piece["function"]["name"], "arguments": "" });
        calls.push(json!({ "id": piece["id"], "type": "function", "function": named }));
    }
    let so_far = calls[place]["function"]["arguments"].as_str().unwrap_or_default();
    let more = piece["function"]["arguments"].as_str().unwrap_or_default();
    calls[place]["function"]["arguments"] = json!(format!("{so_far}{more}"));
}

async fn abort(client: &Client<OpenAIConfig>, chat: &Value) -> Fallible {
    let mut chunks = client.chat().create_stream(read(chat.clone())?).await?;
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        for choice in chunk?.choices {
            text += choice.delta.content.as_deref().unwrap_or_default();
        }
        if text.len() > 20 {
            break;
        }
    }
    Ok(json!({ "text": text }))
}

fn read(asked: Value) -> Result<CreateChatCompletionRequest, OpenAIError> {
    from_value(asked).map_err(|fault| OpenAIError::InvalidArgument(fault.to_string()))
}

fn got_of(text: String, calls: Value, reason: Option<FinishReason>, usage: Value) -> Value {
    let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or_default();
    let prompt = usage["prompt_tokens"].as_u64().unwrap_or_default();
    let counts = json!({ "input": prompt - cached, "cacheRead": cached, "output": usage["completion_tokens"] });
    json!({ "text": text, "calls": calls, "stopReason": reason, "usage": counts })
}

fn fault_of(result: Result<Value, OpenAIError>) -> Value {
    match result {
        Ok(_) => json!({}),
        Err(OpenAIError::ApiError(fault)) => {
            json!({ "fault": "ApiError", "status": fault.status_code.as_u16(), "code": fault.api_error.code })
        }
        Err(fault) => json!({ "fault": fault.to_string() }),
    }
}
