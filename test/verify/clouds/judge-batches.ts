// A batch at Bedrock: its calls have the addresses, bodies and signatures of AWS's own client.

import { providerKinds } from '../../../src/providers/providers.ts';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { AwsSecret, judgeRequest, REGION, WITH_TOKEN } from './judge-signatures.ts';
import type { Judge } from './open-judge.ts';
import type { Check } from './run.ts';

const OPERATIONS = [
  'CreateModelInvocationJob',
  'ListModelInvocationJobs',
  'GetModelInvocationJob',
  'StopModelInvocationJob',
];
const JOB = 'arn:aws:bedrock:eu-central-1:123456789012:model-invocation-job/abcdef123456';
const KEY = 'of/batches/turnpike-1-0/results/2026-11-30T00:00:00.000Z@a=b/requests.jsonl.out';

const answering: Script = (answer, { path }) =>
  path.startsWith('/store/')
    ? answer.send(200, {}, `<Contents><Key>${KEY}</Key></Contents>`)
    : answer.send(200, { 'content-type': 'application/json' }, JSON.stringify({ jobArn: JOB, status: 'InProgress' }));

export async function judgeBatches(judge: Judge, check: Check): Promise<void> {
  await using upstream = await startScriptedUpstream(answering);
  const batches = providerKinds.get('bedrock')?.batches;
  if (batches === undefined) throw new Error('the kind bedrock has no batches');
  const { signal } = new AbortController();
  for (const url of [
    '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke',
    '/model/amazon.nova-pro-v1%3A0/converse',
  ]) {
    const batch = {
      endpoint: {
        name: 'bedrock',
        kind: 'bedrock',
        baseUrl: upstream.url,
        region: REGION,
        credential: new AwsSecret(JSON.stringify(WITH_TOKEN)),
        batchBucket: {
          uri: 's3://our-bucket/of/batches',
          url: `${upstream.url}/store`,
          role: 'arn:aws:iam::123456789012:role/service/batches',
        },
      },
      url,
      betas: null,
      name: 'turnpike-9007199254740991-0',
      requests: 1,
      createdAtMs: 0,
    };
    const line = Buffer.from('{"recordId":"turnpikex1x0","modelInput":{}}');
    const lines = { bytes: line.length, read: () => readOnce(line) };
    const id = await batches.create(batch, lines, signal);
    check('the id of a job is the last part of its ARN', id === 'abcdef123456');
    await batches.find(batch, [], signal);
    await batches.isEnded(batch, id, signal);
    await batches.cancel(batch, id, signal);
    await batches.remove({ ...batch, name: 'turnpike-1-0' }, id, signal);
    const seen = new Set<unknown>();
    for (const request of upstream.requests.splice(0)) {
      const [path = ''] = request.path.split('?');
      const service = path.startsWith('/store/') ? 's3' : 'bedrock';
      await judgeRequest(judge, check, `${request.method} ${path}`, request, WITH_TOKEN, service);
      if (service === 's3') seen.add(request.method);
      else seen.add((await judge.ask({ ask: 'operation', service, method: request.method, path }))['operation']);
      if (request.method !== 'POST' || request.body === '') continue;
      const operation = 'CreateModelInvocationJob';
      const { faults } = await judge.ask({ ask: 'faults', service, operation, body: request.body });
      check(`the body of a job: ${JSON.stringify(faults)}`, (faults as unknown[]).length === 0);
    }
    check(
      `calls of ${[...seen].join()}`,
      [...OPERATIONS, 'PUT', 'GET', 'DELETE'].every((name) => seen.has(name)),
    );
  }
}

async function* readOnce(piece: Uint8Array): AsyncGenerator<Uint8Array> {
  yield piece;
}
