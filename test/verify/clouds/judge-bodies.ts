// Generated conversations as bodies of Converse, against AWS's model of the service.

import fc from 'fast-check';
import { bedrockClaudeDriver, converseDriver } from '../../unit/providers/conformance/bedrock-wire.ts';
import { dialogueFor } from '../../unit/providers/conformance/dialogue.ts';
import type { Driver, Json } from '../../unit/providers/conformance/driver.ts';
import { ask, attemptOf, json } from '../../unit/providers/conformance/exchange.ts';
import { replyOf, text } from '../../unit/providers/conformance/model-reply.ts';
import { writeDialogue } from '../../unit/providers/conformance/write-dialogue.ts';
import type { Judge } from './open-judge.ts';
import type { Check } from './run.ts';

const DIALOGUES = 40;
const SEED = 20_261_126;
const MODELS = [
  'eu.amazon.nova-pro-v1:0',
  'us.amazon.nova-2-lite-v1:0',
  'meta.llama3-3-70b-instruct-v1:0',
  'openai.gpt-oss-120b-1:0',
  'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
];
/** Members that a client may send, too; each is valid for every model here. */
const MEMBERS: readonly Json[] = [
  {},
  { temperature: 0.7, top_p: 0.5, top_k: 5, stop_sequences: ['', 'END'] },
  { tool_choice: { type: 'any', disable_parallel_tool_use: true }, thinking: { type: 'disabled' } },
  { tool_choice: { type: 'none' }, thinking: null },
  { tools: [], thinking: { type: 'enabled', budget_tokens: 1_024 }, output_config: { effort: 'high' } },
  { output_config: { format: { type: 'json_schema', schema: { type: 'object', properties: {} } } } },
];

export async function judgeBodies(judge: Judge, check: Check): Promise<void> {
  const dialogues = fc.sample(dialogueFor(converseDriver.layout.refuses), { numRuns: DIALOGUES, seed: SEED });
  let count = 0;
  for (const [place, dialogue] of dialogues.entries()) {
    const { body, refused } = await writeDialogue(converseDriver, dialogue);
    if (refused.length > 0) continue;
    const model = MODELS[place % MODELS.length] as string;
    for (const members of MEMBERS) {
      const sent = await bodyFor(converseDriver, model, { ...(JSON.parse(body) as Json), ...members });
      const { faults } = await judge.ask({ ask: 'faults', operation: 'Converse', body: sent });
      check(`conversation ${place} for ${model}: ${JSON.stringify(faults)}`, (faults as unknown[]).length === 0);
      count++;
    }
  }
  check(`${count} conversations`, count > DIALOGUES);
  const wrong = {
    messages: [{ role: 'user', content: [{ text: 'a', image: {} }] }],
    inferenceConfig: { maxTokens: '9' },
  };
  const { faults } = await judge.ask({ ask: 'faults', operation: 'Converse', body: JSON.stringify(wrong) });
  check('a wrong body is noticed', (faults as unknown[]).length > 1);
  await judgeCount(judge, check);
}

async function bodyFor(driver: Driver, upstreamModel: string, body: Json): Promise<string> {
  const answer = () => json(driver.whole(replyOf([text('.')])));
  const attempt = attemptOf(driver, body, { upstreamModel, protocol: 'converse' });
  const { sent, fault } = await ask(driver, attempt, answer);
  if (fault !== null) throw fault;
  return sent?.body ?? '';
}

/** The body of the counter has the body of InvokeModel in base64. */
async function judgeCount(judge: Judge, check: Check): Promise<void> {
  const driver = { ...bedrockClaudeDriver, kind: 'bedrock' };
  const { body } = await countedBody(driver);
  const { faults } = await judge.ask({ ask: 'faults', operation: 'CountTokens', body });
  check(`a count: ${JSON.stringify(faults)}`, (faults as unknown[]).length === 0);
  const { input } = JSON.parse(body) as { input: { invokeModel: { body: string } } };
  const inner = JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString()) as Json;
  check('a count has the version of the protocol', inner['anthropic_version'] === 'bedrock-2023-05-31');
  check('a count names no model', inner['model'] === undefined && inner['stream'] === undefined);
}

async function countedBody(driver: Driver): Promise<{ body: string }> {
  const { providerKinds } = await import('../../../src/providers/providers.ts');
  const { answerHost } = await import('../../unit/providers/conformance/network.ts');
  let body = '';
  using _host = answerHost(driver.baseUrl, (request) => {
    body = request.body;
    return json('{"inputTokens":7}');
  });
  await providerKinds.get('bedrock')?.countTokens(attemptOf(driver, { stream: true }));
  return { body };
}
