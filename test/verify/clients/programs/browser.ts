// Serves browser-page.mjs to a real Chromium and prints what the page got. Debian's Chromium, as a caller's own.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBrowser } from '../open-browser.ts';

const { BASE_URL: url, KEY: key, POOR_KEY: poorKey, CONVERSATIONS: file = '' } = process.env;
const { conversations } = JSON.parse(readFileSync(file, 'utf8'));
await openBrowser(join(import.meta.dir, 'browser-page.mjs'), { url, key, poorKey, conversations }, (path, said) => {
  if (path === '/got') console.log(JSON.stringify(said));
  return path === '/end';
});
process.exit(0);
