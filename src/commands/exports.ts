// `turnpike export download`: saves a file of usage or costs. The file has its name when it is complete, or not at all.

import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { openClient } from './admin-client.ts';
import { flagsOf } from './api-command.ts';
import { type Command, CommandFailed, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { readFields } from './flags.ts';

const flags = flagsOf('export-download');

export const exportDownload: Command = {
  name: 'export download',
  summary: 'Save a file of usage or costs; without FILE, CSV is printed',
  positionals: ['[FILE]'],
  flags: { ...flags, ...clientFlags },
  async run(invocation) {
    const { positionals, world } = invocation;
    const [file] = positionals;
    const query = readFields(flags, invocation.flags) as Record<string, string>;
    if (file === undefined && query['format'] === 'parquet') throw new WrongUsage('parquet needs a FILE');
    const pieces = (await openClient(invocation)).download('/exports/file', query);
    if (file !== undefined) return await save(invocation, file, pieces);
    const decoder = new TextDecoder();
    for await (const piece of pieces) await world.write(decoder.decode(piece, { stream: true }));
    return 0;
  },
};

async function save({ world }: Invocation, file: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const part = `${file}.part`;
  const stream = createWriteStream(part, { mode: 0o600 });
  const written = finished(stream);
  written.catch(() => {}); // reported below
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.byteLength;
      if (!stream.write(piece)) await Promise.race([new Promise((resolve) => stream.once('drain', resolve)), written]);
    }
    stream.end();
    await written;
    await rename(part, file);
  } catch (failure) {
    stream.destroy();
    await rm(part, { force: true });
    if (failure instanceof CommandFailed) throw failure;
    throw new CommandFailed(`cannot write ${file}: ${(failure as Error).message}`);
  }
  await world.writeError(`Saved ${file} (${bytes} bytes).\n`);
  return 0;
}
