// Addresses in requests that a provider fetches must be public web addresses, because the provider may run beside
// internal services.

import { expect, test } from 'bun:test';
import { providerKinds } from '../../../src/providers/providers.ts';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { faultOf, makeAttempt } from './make-attempt.ts';

test.each(['openai', 'openai-responses', 'gemini'])('%s gets only addresses of the web', async (kind) => {
  await using upstream = await startScriptedUpstream(scripts.overloaded());
  const provider = providerKinds.get(kind);
  for (const url of ['file:///etc/passwd', 'gopher://10.0.0.1/', '/etc/passwd', 'gs://bucket/a.png', '', 7]) {
    const content = [{ type: 'image', source: { type: 'url', url } }];
    const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] };
    const fault = await faultOf((async () => provider?.submit(makeAttempt(upstream.url, body)))());
    expect(fault).toMatchObject({ kind: 'rejected', status: 400 });
    expect(fault.message).toMatch(/^messages\.0\.content\.0\.(?:image\.)?source/);
  }
  expect(upstream.requests).toEqual([]);
});
