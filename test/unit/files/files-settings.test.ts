// The place of files in the environment.

import { expect, test } from 'bun:test';
import { inspectConfig } from '../../../src/config/config.ts';

const read = (text?: string, more: Record<string, string> = {}) => {
  const { config, faults } = inspectConfig(
    { data: '/srv/data' },
    { ...(text !== undefined && { TURNPIKE_FILES: text }), ...more },
  );
  return faults.length > 0 ? faults : config.files;
};
const POSTGRES = { TURNPIKE_DATABASE_URL: 'postgres://turnpike@127.0.0.1/turnpike' };

test('files are in the data directory with SQLite, and nowhere with PostgreSQL, unless a place is set', () => {
  expect(read()).toEqual({ directory: '/srv/data/files' });
  expect(read(undefined, POSTGRES)).toBeNull();
  expect(read('/mnt/shared', POSTGRES)).toEqual({ directory: '/mnt/shared' });
});

test('a bucket is read from one URL, and a fault does not repeat it', () => {
  const access = { accessKeyId: 'AKID', secretAccessKey: 'a/b+c=' };
  expect(read('https://AKID:a%2Fb%2Bc%3D@s3.example.com/files/turnpike/a?region=eu-central-1')).toEqual({
    ...{ endpoint: 'https://s3.example.com', region: 'eu-central-1', bucket: 'files', prefix: 'turnpike/a' },
    ...access,
  });
  expect(read('http://AKID:a%2Fb%2Bc%3D@127.0.0.1:9000/files/')).toEqual({
    ...{ endpoint: 'http://127.0.0.1:9000', region: 'us-east-1', bucket: 'files', prefix: '' },
    ...access,
  });
  for (const text of [
    'https://s3.example.com/files',
    'https://AKID:canary@s3.example.com',
    'https://AKID:canary@s3.example.com/files?x=1',
    'https://AKID:%zzcanary@s3.example.com/files',
    's3://AKID:canary@s3.example.com/files',
  ]) {
    const [fault] = read(text) as string[];
    expect(fault).toStartWith('TURNPIKE_FILES: must be a directory, or https://ACCESS_KEY_ID:');
    expect(fault).not.toContain('canary');
  }
});
