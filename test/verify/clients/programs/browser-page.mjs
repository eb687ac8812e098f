// The official SDK for TypeScript in a page of a browser, whose origin is not the service's. It posts what it got to the
// page's own server, test/verify/clients/programs/browser.ts.

import Anthropic from '@anthropic-ai/sdk';
import { holdWithAnthropic } from './anthropic-words.mjs';

const { url, key, poorKey, conversations } = window.settings;
const client = new Anthropic({ baseURL: url, apiKey: key, dangerouslyAllowBrowser: true });
const poor = new Anthropic({ baseURL: url, apiKey: poorKey, dangerouslyAllowBrowser: true });
const stranger = new Anthropic({ baseURL: url, apiKey: 'sk-tp-nobodyhasthiskey', dangerouslyAllowBrowser: true });

const post = (path, body) => fetch(path, { method: 'POST', body: JSON.stringify(body) });
for (const conversation of conversations) {
  const got = await holdWithAnthropic({ client, poor, stranger }, conversation).catch((fault) => ({
    broken: fault.stack,
  }));
  await post('/got', { conversation: conversation.name, got });
}
await post('/end', {});
