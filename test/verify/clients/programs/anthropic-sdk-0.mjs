// The official SDK for TypeScript, 0.x, in Node.

import Anthropic from 'anthropic-sdk-0';
import { holdWithAnthropic } from './anthropic-words.mjs';
import { holdAll } from './hold-all.mjs';

const client = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: process.env.KEY });
const poor = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: process.env.POOR_KEY });
const stranger = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: 'sk-tp-nobodyhasthiskey' });

await holdAll((conversation) => holdWithAnthropic({ client, poor, stranger }, conversation));
