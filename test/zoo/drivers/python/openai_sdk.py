import json

from common import IMAGE_URL, PLACE, WEATHER, Reader, Weather, usage
from openai import OpenAI
from pydantic import BaseModel


class Place(BaseModel):
    city: str
    people: int


class Client:
    def __init__(self, order):
        self.order = order
        self.sdk = OpenAI(base_url=f"{order['baseUrl']}/v1", api_key=order["key"])
        self.model = order["model"]

    def list(self):
        return {"models": [model.id for model in self.sdk.models.list()]}


class Chat(Client):
    def create(self, content=None, messages=None, **options):
        messages = messages or [{"role": "user", "content": content or self.order["prompt"]}]
        return self.sdk.chat.completions.create(model=self.model, messages=messages, **options)

    def ask(self):
        answer = self.create()
        counts = usage(answer.usage.prompt_tokens, answer.usage.completion_tokens)
        return {"text": answer.choices[0].message.content, "usage": counts}

    def stream(self):
        reader, counts = Reader(self.order), None
        with self.create(stream=True, stream_options={"include_usage": True}) as chunks:
            for chunk in chunks:
                if chunk.usage:
                    counts = usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
                if chunk.choices and reader.take(chunk.choices[0].delta.content):
                    break
        return reader.report(counts)

    def tools(self):
        weather = Weather()
        tools = [{"type": "function", "function": WEATHER}]
        asked = [{"role": "user", "content": self.order["prompt"]}]
        first = self.create(messages=asked, tools=tools).choices[0].message
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": weather.run(call.function.arguments)}
            for call in first.tool_calls
        ]
        last = self.create(messages=[*asked, first, *results], tools=tools)
        return {"text": last.choices[0].message.content, "called": weather.called}

    def structured(self):
        answer = self.sdk.chat.completions.parse(
            model=self.model,
            messages=[{"role": "user", "content": self.order["prompt"]}],
            response_format=Place,
        )
        return {"value": answer.choices[0].message.parsed.model_dump()}

    def image(self):
        parts = [
            {"type": "text", "text": self.order["prompt"]},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        return {"text": self.create(content=parts).choices[0].message.content}


class Responses(Client):
    def create(self, given=None, **options):
        return self.sdk.responses.create(
            model=self.model, input=given or self.order["prompt"], **options
        )

    def ask(self):
        answer = self.create()
        counts = usage(answer.usage.input_tokens, answer.usage.output_tokens)
        return {"text": answer.output_text, "usage": counts}

    def stream(self):
        reader = Reader(self.order)
        with self.sdk.responses.stream(model=self.model, input=self.order["prompt"]) as events:
            for event in events:
                if event.type == "response.output_text.delta" and reader.take(event.delta):
                    return reader.report()
            answer = events.get_final_response()
        return reader.report(usage(answer.usage.input_tokens, answer.usage.output_tokens))

    def tools(self):
        weather = Weather()
        tools = [{"type": "function", **WEATHER, "strict": True}]
        asked = [{"role": "user", "content": self.order["prompt"]}]
        first = self.create(asked, tools=tools)
        results = [
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": weather.run(item.arguments),
            }
            for item in first.output
            if item.type == "function_call"
        ]
        last = self.create([*asked, *first.output, *results], tools=tools)
        return {"text": last.output_text, "called": weather.called}

    def structured(self):
        form = {"type": "json_schema", "name": "place", "strict": True, "schema": PLACE}
        return {"value": json.loads(self.create(text={"format": form}).output_text)}

    def image(self):
        parts = [
            {"type": "input_text", "text": self.order["prompt"]},
            {"type": "input_image", "image_url": IMAGE_URL, "detail": "auto"},
        ]
        return {"text": self.create([{"role": "user", "content": parts}]).output_text}


def connect(order, endpoint):
    return {"chat": Chat, "responses": Responses}[endpoint](order)
