// A provider of the Responses protocol on loopback that responds with given items, streamed on request. It has no
// tests of its own.

import type { JsonObject } from '../../../../src/wire/wire.ts';
import type { Script } from '../../../support/scripted-upstream.ts';

const USAGE = {
  input_tokens: 120,
  input_tokens_details: { cached_tokens: 100 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 25 },
  total_tokens: 160,
};
const MODEL = 'gpt-theirs-2026';
const REQUEST_ID = { 'x-request-id': 'req_theirs' };

export const messageItem = (text: string): JsonObject => ({
  type: 'message',
  id: 'msg_theirs',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
});
export const thought = (id: string, ...parts: string[]): JsonObject => ({
  type: 'reasoning',
  id,
  summary: parts.map((text) => ({ type: 'summary_text', text })),
  encrypted_content: `gAAAA.${id}==`,
});
/** Responds with these items, as requested: as a stream of events, or whole. */
export function answering(...output: JsonObject[]): Script {
  const response = { id: 'resp_1', object: 'response', model: MODEL, status: 'completed', output, usage: USAGE };
  return async (answer, request) => {
    if (JSON.parse(request.body).stream !== true)
      return answer.send(200, { 'content-type': 'application/json', ...REQUEST_ID }, JSON.stringify(response));
    answer.begin(200, { 'content-type': 'text/event-stream', ...REQUEST_ID });
    for (const event of eventsOf(response, output)) await answer.write(eventText(event));
    answer.end();
  };
}

function eventText(event: JsonObject): string {
  return `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
}

function eventsOf(response: JsonObject, output: readonly JsonObject[]): JsonObject[] {
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    ...output.flatMap(eventsOfItem),
    { type: 'response.completed', response },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

/** Texts arrive in two pieces. */
function eventsOfItem(item: JsonObject, output_index: number): JsonObject[] {
  const halves = (type: string, text: unknown, members: JsonObject = {}) => {
    const whole = String(text);
    const middle = Math.ceil(whole.length / 2);
    return [whole.slice(0, middle), whole.slice(middle)].map((delta) => ({ type, output_index, ...members, delta }));
  };
  const texts = (list: unknown) => (list as { text: string }[]).map(({ text }, place) => ({ text, place }));
  const deltas: Record<string, () => JsonObject[]> = {
    message: () =>
      texts(item['content']).flatMap(({ text, place }) =>
        halves('response.output_text.delta', text, { content_index: place }),
      ),
    reasoning: () =>
      texts(item['summary']).flatMap(({ text, place }) =>
        halves('response.reasoning_summary_text.delta', text, { summary_index: place }),
      ),
    function_call: () => halves('response.function_call_arguments.delta', item['arguments']),
  };
  const begun = { ...item, status: 'in_progress', ...(item['type'] === 'function_call' && { arguments: '' }) };
  return [
    { type: 'response.output_item.added', output_index, item: { ...begun, content: [], summary: [] } },
    ...(deltas[String(item['type'])]?.() ?? []),
    { type: 'response.output_item.done', output_index, item },
  ];
}
