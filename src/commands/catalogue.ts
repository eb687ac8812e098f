// `turnpike catalogue`: takes the prices of a newer price list after they were shown and confirmed, and prints the list in
// use as a file. A list from a URL must have a signature by the key that the operator trusts.

import { lookup } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { collectBytes } from '../base/collect-bytes.ts';
import { findPrivateAddress } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { type AdminClient, openClient, Refused, type Row } from './admin-client.ts';
import { type Command, CommandFailed, clientFlags, type Invocation } from './command.ts';
import { textFlag } from './flags.ts';
import { columns, onePage, printRows } from './output.ts';

const SIGNATURE_BYTES = 64;
const SIGNATURE_BYTES_MAX = 1_024; // size limit of a signature file
const KEY_SETTING = 'price_list_key';

const update: Command = {
  name: 'catalogue update',
  summary: 'Take the prices of a newer price list, for models whose price comes from a list, after confirmation',
  flags: {
    from: { value: 'FILE|URL', help: 'the list; a URL needs a signature (default: the list that the service uses)' },
    'dry-run': { help: 'prints what would change without changing anything' },
    yes: { help: 'changes prices without asking' },
    'private-network': { help: 'allows a URL in a private network' },
    ...clientFlags,
  },
  async run(invocation) {
    const { flags, json, world } = invocation;
    const client = await openClient(invocation);
    const from = textFlag(flags, 'from');
    const list = from === undefined ? {} : { list: await readList(client, from, flags['private-network'] === true) };
    const planned = await post(client, { ...list, dry_run: true });
    const isDry = flags['dry-run'] === true;
    if (!json) await printChanges(invocation, planned);
    const models = planned['models'] as string[];
    const question = `Take the prices of the list of ${planned['as_of']} (models: ${models.length})?`;
    if (!isDry && flags['yes'] !== true && (json || !(await world.confirm(question))))
      throw new CommandFailed('no price was changed: confirm, or add --yes');
    // Only what was shown: a model that was added meanwhile stays.
    const done = isDry ? planned : await post(client, { ...list, models, dry_run: false });
    if (json) await world.write(`${JSON.stringify(done, null, 2)}\n`);
    else if (!isDry)
      await world.writeError(`Took the prices of the list of ${done['as_of']} (models: ${models.length}).\n`);
    return 0;
  },
};

const exportList: Command = {
  name: 'catalogue export',
  summary: 'Print the price list that the service uses, in the form that "catalogue update --from" reads',
  flags: clientFlags,
  async run(invocation) {
    const client = await openClient(invocation);
    const { price_lists: lists, data } = (await client.get('/prices')) as Record<string, Row[]>;
    const families = (lists ?? []).map(({ family, source }) => {
      const rows = (data ?? []).filter((row) => row['family'] === family);
      return [family, { source, models: Object.fromEntries(rows.map(({ name, family: _, ...row }) => [name, row])) }];
    });
    await invocation.world.write(`${JSON.stringify(Object.fromEntries(families), null, 2)}\n`);
    return 0;
  },
};

export const catalogueCommands: readonly Command[] = [update, exportList];

/** Throws CommandFailed with every fault of the list, by its path. */
async function post(client: AdminClient, body: Row): Promise<Row> {
  try {
    return await client.post('/prices/update', body);
  } catch (thrown) {
    if (!(thrown instanceof Refused) || thrown.faults.length === 0) throw thrown;
    const lines = thrown.faults.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new CommandFailed(['the list was not taken', ...lines].join('\n'));
  }
}

async function printChanges(invocation: Invocation, planned: Row): Promise<void> {
  await printRows(
    invocation,
    onePage(planned['changes'] as Row[]),
    [...columns('model part from before after'), ['AS OF', 'as_of']],
    'No price changes.',
  );
}

async function readList(client: AdminClient, from: string, allowsPrivate: boolean): Promise<unknown> {
  const text = /^https?:/i.test(from) ? await fetchSigned(client, from, allowsPrivate) : await readListFile(from);
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new CommandFailed(`${from} is not JSON: ${(thrown as Error).message}`);
  }
}

async function readListFile(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > bounds.priceListBytesMax)
      throw new Error(`is larger than ${bounds.priceListBytesMax} bytes`);
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw new CommandFailed(`cannot read ${path}: ${(thrown as Error).message}`);
  }
}

/** The list at a URL, if the signature at the same URL with ".sig" is by the trusted key. */
async function fetchSigned(client: AdminClient, url: string, allowsPrivate: boolean): Promise<string> {
  const key = await readTrustedKey(client);
  const address = allowsPrivate ? null : await findPrivateAddress(url, lookupAll);
  if (address !== null)
    throw new CommandFailed(`${url} is at ${address} in a private network: add --private-network to allow it`);
  const list = await fetchBytes(url, bounds.priceListBytesMax);
  const signature = readSignature(await fetchBytes(`${url}.sig`, SIGNATURE_BYTES_MAX));
  if (signature === null || !(await crypto.subtle.verify('Ed25519', key, signature, list)))
    throw new CommandFailed(`the signature at ${url}.sig is not by the key of the setting ${KEY_SETTING}`);
  return new TextDecoder().decode(list);
}

async function readTrustedKey(client: AdminClient): Promise<CryptoKey> {
  const { data } = (await client.get('/settings')) as { data?: Row[] };
  const value = data?.find(({ name }) => name === KEY_SETTING)?.['value'];
  if (typeof value !== 'string')
    throw new CommandFailed(
      `a list from a URL needs the public key of its publisher: set ${KEY_SETTING}, or use a file`,
    );
  return crypto.subtle.importKey('raw', Buffer.from(value, 'base64'), 'Ed25519', false, ['verify']);
}

/** 64 bytes, or their base64. */
function readSignature(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | null {
  if (bytes.length === SIGNATURE_BYTES) return bytes;
  const decoded = Uint8Array.from(Buffer.from(new TextDecoder().decode(bytes).trim(), 'base64'));
  return decoded.length === SIGNATURE_BYTES ? decoded : null;
}

async function fetchBytes(url: string, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(bounds.priceListWaitMs) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const tooLarge = () => new Error(`it is larger than ${bytesMax} bytes`);
    return Uint8Array.from(await collectBytes(answer.body, bytesMax, tooLarge));
  } catch (thrown) {
    throw new CommandFailed(`cannot fetch ${url}: ${(thrown as Error).message}`);
  }
}

async function lookupAll(hostname: string): Promise<string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}
