// Locks the given directory, prints that it did, and waits to be killed. Run by sqlite.test.ts.

import { lockDirectory } from '../../src/storage/sqlite/sqlite.ts';

const lock = lockDirectory(process.argv[2] ?? '.');
console.log('locked');
setTimeout(() => lock.close(), 60_000);
