// Who is sent no addresses that a caller names: a provider inside of the operator's own network, by its base URL.

import { expect, test } from 'bun:test';
import { ProviderFault } from '../../src/providers/providers.ts';
import { refuseAddresses } from '../../src/providers/refuse-addresses.ts';
import type { JsonObject } from '../../src/wire/wire.ts';

const image = (url: string): JsonObject => ({ type: 'image', source: { type: 'url', url } });
const asking = (...content: JsonObject[]): JsonObject => ({ messages: [{ role: 'user', content }] });

function refusalOf(body: JsonObject, baseUrl: string): string | null {
  try {
    refuseAddresses(body, baseUrl);
    return null;
  } catch (thrown) {
    if (thrown instanceof ProviderFault && thrown.kind === 'rejected') return thrown.message;
    throw thrown;
  }
}

test.each([
  'http://127.0.0.1:11434/v1',
  'http://0x7f.1:8000',
  'http://localhost:8000',
  'http://192.168.1.20/v1',
  'http://[fd00::1]:8000/v1',
  'http://[::ffff:10.0.0.1]',
  'http://ollama:11434',
  'http://vllm.models.svc.cluster.local',
  'https://llm.example.internal/v1',
  'http://box.lan.',
])('a provider at %s is sent none', (baseUrl) => {
  const message = refusalOf(asking({ type: 'text', text: 'Look' }, image('https://example.com/cat.png')), baseUrl);
  expect(message).toStartWith('messages.0.content.1.source.url: ');
});

test.each([
  'https://api.openai.com/v1',
  'https://mine.openai.azure.com',
  'http://203.0.113.7:8000',
  'https://[2606:4700::1]/v1',
  'https://lanterns.example/v1',
])('a provider at %s reads them for itself', (baseUrl) => {
  expect(refusalOf(asking(image('https://example.com/cat.png')), baseUrl)).toBeNull();
});

test('what is in the address itself is read from nowhere', () => {
  expect(refusalOf(asking(image('data:image/png;base64,iVBORw0KGgo=')), 'http://127.0.0.1:8000')).toBeNull();
});

test('an address is found in the result of a tool, too', () => {
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [image('http://10.0.0.1/')] };
  expect(refusalOf(asking(result), 'http://127.0.0.1:8000')).toStartWith('messages.0.content.0.content.0.source.url: ');
});
