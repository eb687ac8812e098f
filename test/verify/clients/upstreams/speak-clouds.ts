// Claude at a cloud: the words of the Messages protocol in the platform's form. No tests of its own.

import type { Answer, Script } from '../../../support/scripted-upstream.ts';
import { frameOf } from '../../../unit/providers/conformance/bedrock-wire.ts';
import { type Spoken, sayMessage } from './speak-messages.ts';

export const clouds = ['bedrock', 'vertex', 'foundry'] as const;
export type Cloud = (typeof clouds)[number];

/**
 * Bedrock and Vertex AI have the model in the path. Bedrock also tells there whether an answer is streamed, and sends events
 * in binary frames.
 */
export function sayAtCloud(cloud: Cloud, spoken: Spoken): Script {
  const say = sayMessage(spoken);
  return (answer, request) => {
    const given = { model: 'claude-sonnet-4-5', ...(JSON.parse(request.body) as object) };
    if (cloud !== 'bedrock') return say(answer, { ...request, body: JSON.stringify(given) });
    const stream = request.path.endsWith('/invoke-with-response-stream');
    return say(stream ? inFrames(answer) : answer, { ...request, body: JSON.stringify({ ...given, stream }) });
  };
}

function inFrames(answer: Answer): Answer {
  return {
    send: (...given) => answer.send(...given),
    begin: (status) => answer.begin(status, { 'content-type': 'application/vnd.amazon.eventstream' }),
    write: (piece) => answer.write(chunkOf(String(piece))),
    end: () => answer.end(),
    drop: () => answer.drop(),
    reset: () => answer.reset(),
    get isGone() {
      return answer.isGone;
    },
  };
}

function chunkOf(event: string): Uint8Array {
  const text = event.slice(event.indexOf('data: ') + 'data: '.length).trimEnd();
  const headers = { ':message-type': 'event', ':event-type': 'chunk', ':content-type': 'application/json' };
  return frameOf(headers, JSON.stringify({ bytes: Buffer.from(text).toString('base64'), p: 'abc' }));
}

/** The model's name there. */
export const cloudModels: Readonly<Record<Cloud, string>> = {
  bedrock: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
  vertex: 'claude-sonnet-4-5@20250929',
  foundry: 'claude-sonnet-4-5',
};

/** Members of a provider at the cloud, beside those that every kind has. */
export const cloudMembers: Readonly<Record<Cloud, object>> = {
  bedrock: { region: 'eu-central-1', auth: { type: 'aws_keys', access_key_id: 'AKIAEXAMPLE000000000' } },
  vertex: { region: 'europe-west1', project: 'a-project' },
  foundry: {},
};
