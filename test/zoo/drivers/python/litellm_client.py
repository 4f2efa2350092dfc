import json

import litellm
from common import IMAGE_URL, PLACE, WEATHER, Reader, Weather, usage

litellm.telemetry = False
litellm.suppress_debug_info = True


class Completion:
    """The library translates its one form into the endpoint's by the model's prefix."""

    def __init__(self, order, prefix, base):
        self.order = order
        self.options = {"model": f"{prefix}/{order['model']}", "api_base": base, "api_key": order["key"]}

    def create(self, content=None, messages=None, **more):
        messages = messages or [{"role": "user", "content": content or self.order["prompt"]}]
        return litellm.completion(messages=messages, **self.options, **more)

    def ask(self):
        answer = self.create()
        counts = usage(answer.usage.prompt_tokens, answer.usage.completion_tokens)
        return {"text": answer.choices[0].message.content, "usage": counts}

    def stream(self):
        # Leaving the loop does not end the request.
        if self.order["cancel"]:
            return {"missing": True}
        reader, counts = Reader(self.order), None
        chunks = self.create(stream=True, stream_options={"include_usage": True})
        for chunk in chunks:
            found = getattr(chunk, "usage", None)
            if found:
                counts = usage(found.prompt_tokens, found.completion_tokens)
            if chunk.choices:
                reader.take(chunk.choices[0].delta.content)
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
        last = self.create(messages=[*asked, first.model_dump(exclude_none=True), *results], tools=tools)
        return {"text": last.choices[0].message.content, "called": weather.called}

    def structured(self):
        schema = {"name": "place", "schema": PLACE, "strict": True}
        form = {"type": "json_schema", "json_schema": schema}
        return {"value": json.loads(self.create(response_format=form).choices[0].message.content)}

    def image(self):
        parts = [
            {"type": "text", "text": self.order["prompt"]},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        return {"text": self.create(content=parts).choices[0].message.content}


class Responses:
    def __init__(self, order):
        self.order = order
        self.options = {
            "model": f"openai/{order['model']}",
            "api_base": f"{order['baseUrl']}/v1",
            "api_key": order["key"],
        }

    def ask(self):
        answer = litellm.responses(input=self.order["prompt"], **self.options)
        counts = usage(answer.usage.input_tokens, answer.usage.output_tokens)
        return {"text": answer.output_text, "usage": counts}

    def stream(self):
        if self.order["cancel"]:
            return {"missing": True}
        reader, counts = Reader(self.order), None
        for event in litellm.responses(input=self.order["prompt"], stream=True, **self.options):
            if event.type == "response.output_text.delta":
                reader.take(event.delta)
            if event.type == "response.completed":
                found = event.response.usage
                counts = usage(found.input_tokens, found.output_tokens)
        return reader.report(counts)


def connect(order, endpoint):
    if endpoint == "chat":
        return Completion(order, "openai", f"{order['baseUrl']}/v1")
    return Completion(order, "anthropic", order["baseUrl"]) if endpoint == "messages" else Responses(order)
