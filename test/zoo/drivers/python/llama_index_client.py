from common import IMAGE, Reader, Weather
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.program.function_program import FunctionTool
from pydantic import BaseModel


class Place(BaseModel):
    city: str
    people: int


def model_of(order):
    from llama_index.llms.openai_like import OpenAILike

    return OpenAILike(
        model=order["model"],
        api_key=order["key"],
        api_base=f"{order['baseUrl']}/v1",
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=200_000,
    )


class LlamaIndex:
    def __init__(self, order):
        self.order = order
        self.model = model_of(order)

    def asked(self):
        return [ChatMessage(role="user", content=self.order["prompt"])]

    def ask(self):
        return {"text": self.model.chat(self.asked()).message.content}

    def stream(self):
        # Closing its generator does not end the request.
        if self.order["cancel"]:
            return {"missing": True}
        reader = Reader(self.order)
        for chunk in self.model.stream_chat(self.asked()):
            reader.take(chunk.delta)
        return reader.report()

    def tools(self):
        weather = Weather()
        tools = [FunctionTool.from_defaults(fn=weather.get_weather, name="get_weather")]
        first = self.model.chat_with_tools(tools, chat_history=self.asked(), allow_parallel_tool_calls=True)
        results = [
            ChatMessage(
                role="tool",
                content=weather.run(call.tool_kwargs),
                additional_kwargs={"tool_call_id": call.tool_id},
            )
            for call in self.model.get_tool_calls_from_response(first)
        ]
        last = self.model.chat_with_tools(tools, chat_history=[*self.asked(), first.message, *results])
        return {"text": last.message.content, "called": weather.called}

    def structured(self):
        answer = self.model.as_structured_llm(Place).chat(self.asked())
        return {"value": answer.raw.model_dump()}

    def image(self):
        blocks = [
            TextBlock(text=self.order["prompt"]),
            ImageBlock(image=IMAGE, image_mimetype="image/png"),
        ]
        return {"text": self.model.chat([ChatMessage(role="user", blocks=blocks)]).message.content}


def connect(order, _endpoint):
    return LlamaIndex(order)
