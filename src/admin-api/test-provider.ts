// Tests a provider with each of its credentials, one after the other, and says of each how it went. The
// whole is bounded: who asks waits for it.

import type { Credential, ProviderSettings } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import type { ProbeResult } from '../providers/providers.ts';
import type { AdminDependencies } from './dependencies.ts';

/** How it went, with the words of the first credential that failed; `credentials` is empty where the provider has none. */
export interface ProviderTest extends ProbeResult {
  credentials: CredentialTest[];
}

export interface CredentialTest extends Pick<ProbeResult, 'ok' | 'status' | 'fault' | 'message'> {
  name: string;
}

const NOT_TESTED: ProbeResult = {
  ok: false,
  status: null,
  ms: 0,
  fault: 'timeout',
  message: 'It was not tested: those before it took too long.',
  models: null,
};

/** Never rejects: a failure is the result. */
export async function testProvider(
  { probe, clock }: Pick<AdminDependencies, 'probe' | 'clock'>,
  { name, kind, baseUrl, credentials }: ProviderSettings,
): Promise<ProviderTest> {
  const probeWith = (credential: Credential['secret'] | null) => probe({ name, kind, baseUrl, credential });
  if (credentials.length === 0) return { ...(await probeWith(null)), credentials: [] };
  const startedMs = clock.nowMs();
  const tests: [Credential, ProbeResult][] = [];
  for (const credential of credentials) {
    const isLate = clock.nowMs() - startedMs >= bounds.providerTestMsMax;
    tests.push([credential, isLate ? NOT_TESTED : await probeWith(credential.secret)]);
  }
  return { ...sumUp(tests), credentials: tests.map(([credential, result]) => shown(credential.name, result)) };
}

function sumUp(tests: readonly [Credential, ProbeResult][]): ProbeResult {
  const [first, second] = tests;
  const [credential, result] = tests.find(([, { ok }]) => !ok) ?? (first as [Credential, ProbeResult]);
  const ms = tests.reduce((sum, [, one]) => sum + one.ms, 0);
  if (second === undefined) return { ...result, ms };
  const which = result.ok ? `Each of its ${tests.length} credentials` : `Credential "${credential.name}"`;
  return { ...result, ms, message: `${which}: ${result.message}` };
}

function shown(name: string, { ok, status, fault, message }: ProbeResult): CredentialTest {
  return { name, ok, status, fault, message };
}
