from common import IMAGE_URL, Reader, usage
from smolagents import OpenAIModel
from smolagents.models import ChatMessage, MessageRole


class Smolagents:
    def __init__(self, order):
        self.order = order
        self.model = OpenAIModel(
            model_id=order["model"], api_base=f"{order['baseUrl']}/v1", api_key=order["key"]
        )

    def asked(self, content=None):
        return [ChatMessage(role=MessageRole.USER, content=content or self.order["prompt"])]

    def ask(self):
        message = self.model.generate(self.asked())
        counts = usage(message.token_usage.input_tokens, message.token_usage.output_tokens)
        return {"text": message.content, "usage": counts}

    def stream(self):
        # Closing its generator does not end the request.
        if self.order["cancel"]:
            return {"missing": True}
        reader, counts = Reader(self.order), None
        for delta in self.model.generate_stream(self.asked()):
            if delta.token_usage:
                counts = usage(delta.token_usage.input_tokens, delta.token_usage.output_tokens)
            reader.take(delta.content)
        return reader.report(counts)

    def image(self):
        parts = [
            {"type": "text", "text": self.order["prompt"]},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        return {"text": self.model.generate(self.asked(parts)).content}


def connect(order, _endpoint):
    return Smolagents(order)
