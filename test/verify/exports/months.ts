// An installation with two months of messages, refunds and credits, for files of exports. It has no tests of its own.

import {
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from '../../contract/admin-api/installation.ts';

export interface Months {
  installation: Installation;
  accounts: Json[];
}

/** November 2026 is over. */
export async function makeMonths(messages: number): Promise<Months> {
  const installation = await makeInstallation();
  const { ask, clock } = installation;
  const accounts: Json[] = [];
  for (const name of ['acme', 'beta, "inc" 日本']) {
    const account = await makeAccount(installation, { name, credit: '1000.00' });
    accounts.push(account);
    const key = await makeKey(installation, account['id'], { name: '=cmd()' });
    const [first] = await useKey(installation, key, messages);
    await useKey(installation, key, 4, { model: 'big', provider: 'other', cost: 1_234_567, providerCost: null });
    const units = { counts: { images: 2, input_audio_tokens: 40 }, image: null };
    const unitCosts = { images: 1_000_001, input_audio_tokens: 33_333 };
    await useKey(installation, key, 3, { model: 'painter', cost: 1_234_567, units, unitCosts });
    await ask('POST', `/api/v1/usage/${first}/refunds`, { amount: '0.000000007' });
    await ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '2.50', kind: 'promotion' });
  }
  clock.advance(Date.UTC(2026, 11, 1, 2) - clock.nowMs());
  const { data } = (await ask('GET', '/api/v1/usage?limit=1')).body as { data: Json[] };
  await ask('POST', `/api/v1/usage/${data[0]?.['request_id']}/refunds`, {});
  return { installation, accounts };
}

/** The sum of a member of the statements of all accounts, with 9 fraction digits, as DuckDB prints it. */
export async function totalOf({ installation, accounts }: Months, month: string, member: string): Promise<string> {
  let sum = 0n;
  for (const account of accounts) {
    const { body } = await installation.ask('GET', `/api/v1/accounts/${account['id']}/statement?month=${month}`);
    const [whole = '', fraction = ''] = String(body[member]).split('.');
    sum += BigInt(`${whole}${fraction.padEnd(9, '0')}`);
  }
  const digits = (sum < 0n ? -sum : sum).toString().padStart(10, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
