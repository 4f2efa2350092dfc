import json

from anthropic import Anthropic
from common import IMAGE, PLACE, WEATHER, Reader, Weather, usage


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def usage_of(message):
    return usage(message.usage.input_tokens, message.usage.output_tokens)


class Messages:
    def __init__(self, order):
        self.order = order
        self.sdk = Anthropic(base_url=order["baseUrl"], api_key=order["key"])

    def options(self, content=None, messages=None, **more):
        messages = messages or [{"role": "user", "content": content or self.order["prompt"]}]
        return {"model": self.order["model"], "max_tokens": 1000, "messages": messages, **more}

    def create(self, **options):
        return self.sdk.messages.create(**self.options(**options))

    def list(self):
        return {"models": [model.id for model in self.sdk.models.list()]}

    def ask(self):
        message = self.create()
        return {"text": text_of(message), "usage": usage_of(message)}

    def stream(self):
        reader = Reader(self.order)
        with self.sdk.messages.stream(**self.options()) as stream:
            for piece in stream.text_stream:
                if reader.take(piece):
                    return reader.report()
            return reader.report(usage_of(stream.get_final_message()))

    def tools(self):
        weather = Weather()
        tool = {
            "name": WEATHER["name"],
            "description": WEATHER["description"],
            "input_schema": WEATHER["parameters"],
        }
        asked = [{"role": "user", "content": self.order["prompt"]}]
        first = self.create(messages=asked, tools=[tool])
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": weather.run(block.input)}
            for block in first.content
            if block.type == "tool_use"
        ]
        turns = [
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": results},
        ]
        last = self.create(messages=[*asked, *turns], tools=[tool])
        return {"text": text_of(last), "called": weather.called}

    def structured(self):
        output = {"format": {"type": "json_schema", "schema": PLACE}}
        return {"value": json.loads(text_of(self.create(output_config=output)))}

    def image(self):
        source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
        parts = [{"type": "image", "source": source}, {"type": "text", "text": self.order["prompt"]}]
        return {"text": text_of(self.create(content=parts))}


def connect(order, _endpoint):
    return Messages(order)
