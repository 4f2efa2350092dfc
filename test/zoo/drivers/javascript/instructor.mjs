import createInstructor from '@instructor-ai/instructor';
import OpenAI from 'openai';
import { z } from 'zod/v3';

const instructor = ({ baseUrl, key, model, prompt }) => ({
  structured: async () => {
    const client = createInstructor({
      client: new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key }),
      mode: 'TOOLS',
    });
    const schema = z.object({ city: z.string(), people: z.number().int() });
    const { city, people } = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: prompt }],
      response_model: { schema, name: 'Place' },
    });
    return { value: { city, people } };
  },
});

export const clients = { '@instructor-ai/instructor chat': instructor };
