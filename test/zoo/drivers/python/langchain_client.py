from common import IMAGE_URL, PLACE, WEATHER, Reader, Weather, usage


def model_of(order, endpoint):
    if endpoint == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(
            model=order["model"], api_key=order["key"], base_url=order["baseUrl"], max_tokens=1000
        )
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=order["model"],
        api_key=order["key"],
        base_url=f"{order['baseUrl']}/v1",
        use_responses_api=endpoint == "responses",
        stream_usage=True,
    )


def usage_of(message):
    counts = message.usage_metadata
    return usage(counts["input_tokens"], counts["output_tokens"]) if counts else None


class LangChain:
    def __init__(self, order, endpoint):
        self.order = order
        self.model = model_of(order, endpoint)

    def ask(self):
        message = self.model.invoke(self.order["prompt"])
        return {"text": message.text, "usage": usage_of(message)}

    def stream(self):
        reader, whole = Reader(self.order), None
        chunks = self.model.stream(self.order["prompt"])
        for chunk in chunks:
            whole = chunk if whole is None else whole + chunk
            if reader.take(chunk.text):
                chunks.close()
                return reader.report()
        return reader.report(usage_of(whole))

    def tools(self):
        from langchain_core.messages import HumanMessage, ToolMessage

        weather = Weather()
        bound = self.model.bind_tools([{"type": "function", "function": WEATHER}])
        asked = [HumanMessage(self.order["prompt"])]
        first = bound.invoke(asked)
        results = [
            ToolMessage(content=weather.run(call["args"]), tool_call_id=call["id"])
            for call in first.tool_calls
        ]
        return {"text": bound.invoke([*asked, first, *results]).text, "called": weather.called}

    def structured(self):
        return {"value": self.model.with_structured_output(PLACE).invoke(self.order["prompt"])}

    def image(self):
        parts = [
            {"type": "text", "text": self.order["prompt"]},
            {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        ]
        return {"text": self.model.invoke([{"role": "user", "content": parts}]).text}


def connect(order, endpoint):
    return LangChain(order, endpoint)
