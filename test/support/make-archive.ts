// ZIP archives, compressed, as office programs write their documents.

import { deflateRawSync } from 'node:zlib';

export interface ArchivePart {
  name: string;
  /** Characters up to 255 are bytes. */
  content: string;
}

export function makeArchive(parts: readonly ArchivePart[]): Buffer {
  const files: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const { name, content } of parts) {
    const data = deflateRawSync(Buffer.from(content, 'latin1'));
    const file = Buffer.concat([Buffer.alloc(30), Buffer.from(name), data]);
    file.writeUInt32LE(0x0403_4b50, 0);
    file.writeUInt16LE(8, 8);
    file.writeUInt16LE(name.length, 26);
    const entry = Buffer.concat([Buffer.alloc(46), Buffer.from(name)]);
    entry.writeUInt32LE(0x0201_4b50, 0);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    files.push(file);
    entries.push(entry);
    at += file.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x0605_4b50, 0);
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, directory, end]);
}
