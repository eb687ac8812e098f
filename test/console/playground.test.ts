// The playground and the page after creating a key, in a real browser against a real service.

import { expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import type { KeyShape } from '../../src/admin-api/shapes.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { type OpenedConsole, openConsole, type Visitor } from './open-console.ts';

const opened = openConsole(0);

async function ownerAtPlayground(model: string): Promise<Visitor> {
  return await atPlayground('owner', model);
}

async function atPlayground(
  role: keyof OpenedConsole['filled']['tokens'],
  model: string,
  isPhone = false,
): Promise<Visitor> {
  const visitor = await opened.visit(role, { isPhone });
  await visitor.goTo(`/playground?model=${model}`);
  return visitor;
}

/** Acts in the drawer of settings, and closes it. */
async function inSettings(page: Page, act: () => Promise<void>): Promise<void> {
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await act();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

/** Sends a message, and waits for the cost of its response. */
async function ask(page: Page, text: string): Promise<Locator> {
  const answers = page.getByRole('article', { name: 'Response' });
  const count = await answers.count();
  await page.getByLabel('Your message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await answers.nth(count).getByTestId('cost').waitFor();
  return answers.nth(count);
}

test.skipIf(chromium === null)(
  'a response streams with its thinking, and its exact cost appears below it',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-thinking');
    const { page } = visitor;
    const write = page.getByLabel('Your message');
    await write.fill('Hello <b>you</b>');
    await write.press('Control+Enter');
    const answer = page.getByRole('article', { name: 'Response' });
    await answer.getByText('Hello <b>you</b>').waitFor();
    await answer.getByText('Thinking', { exact: true }).waitFor();
    const link = answer.getByRole('link', { name: 'View request' });
    const requestId = (await link.getAttribute('href'))?.split('/').at(-1);
    const record = await opened.turnpike.admin('GET', `/usage/${requestId}`);
    expect(await answer.getByTestId('cost').getAttribute('title')).toBe(`$${record['cost']}`);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain('sk-tp-');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('the model continues after the user enters a tool result', async () => {
  await using visitor = await ownerAtPlayground('sandbox-tool');
  const { page } = visitor;
  await inSettings(page, () => page.getByRole('button', { name: 'Insert example' }).click());
  await page.getByLabel('Your message').fill('How is the weather?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Tool call: get_weather').waitFor();
  await page.getByLabel('Result of get_weather').fill('Rain');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('article', { name: 'Response' }).nth(1).getByText('Rain').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a stopped stream is billed and keeps the text received so far', async () => {
  await using visitor = await ownerAtPlayground('sandbox-lorem');
  const { page } = visitor;
  await inSettings(page, () => page.getByLabel('Max tokens').fill('4000'));
  await page.getByLabel('Your message').fill('Go on');
  await page.getByRole('button', { name: 'Send' }).click();
  const answer = page.getByRole('article', { name: 'Response' });
  await answer.getByText('lorem ipsum').waitFor();
  await page.getByLabel('Your message').fill('And then?'); // stopping must not send this
  await page.getByRole('button', { name: 'Stop' }).click();
  await answer.getByText('stopped').waitFor();
  expect(await page.getByRole('article', { name: 'Response' }).count()).toBe(1);
  expect(await page.getByLabel('Your message').inputValue()).toBe('And then?');
  await answer.getByText('lorem ipsum').waitFor();
  const href = await answer.getByRole('link', { name: 'View request' }).getAttribute('href');
  expect(await opened.turnpike.admin('GET', `/usage/${href?.split('/').at(-1)}`)).toMatchObject({
    outcome: 'client_gone',
  });
});

test.skipIf(chromium === null)(
  'models for images and speech show images and play speech, with their cost',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-image');
    const { page } = visitor;
    const drawn = await ask(page, 'a red bicycle');
    const image = drawn.getByRole('img', { name: 'Image 1' });
    await image.waitFor();
    expect(await image.evaluate((one: HTMLImageElement) => one.decode().then(() => one.naturalWidth))).toBe(1_024);
    expect(await drawn.getByTestId('cost').getAttribute('title')).toBe('$0.01');
    await visitor.goTo('/playground?model=sandbox-speech');
    const spoken = await ask(page, 'Good morning!');
    const sound = spoken.getByLabel('Speech');
    const duration = () => sound.evaluate((one: HTMLAudioElement) => one.duration || 0);
    while ((await duration()) === 0) await page.waitForTimeout(20);
    expect(await duration()).toBeCloseTo(13 * 0.06, 2);
    expect(await spoken.getByRole('button', { name: 'Code' }).count()).toBe(0);
    expect(visitor.problems).toEqual([]);
  },
);

/** A WAV file of a second of silence. */
function silence(): Buffer {
  const file = Buffer.alloc(44 + 32_000);
  file.write('RIFF', 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  for (const [at, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, 32_000],
  ] as const)
    file.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    file.writeUInt16LE(value, at);
  file.write('data', 36, 'latin1');
  return file;
}

test.skipIf(chromium === null)(
  'a model for sound is sent files and recordings, and what it speaks is played',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-voice');
    const { page } = visitor;
    // Chromium has no microphone here: a tone takes its place.
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = async () => {
        const context = new AudioContext();
        const target = context.createMediaStreamDestination();
        const tone = context.createOscillator();
        tone.connect(target);
        tone.start();
        return target.stream;
      };
    });
    await page.locator('input[type="file"][accept*="audio"]').setInputFiles([
      { name: 'silence.wav', mimeType: 'audio/wav', buffer: silence() },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no sound') },
    ]);
    await page.getByText('Sound must be WAV or MP3', { exact: false }).waitFor();
    await page.getByLabel('Sound 1', { exact: true }).waitFor();
    const heard = await ask(page, '');
    await heard.getByText('The sandbox heard 32044 bytes of sound.').waitFor();
    expect(await heard.getByRole('button', { name: 'Code' }).count()).toBe(0);
    expect(await page.getByRole('article', { name: 'You' }).getByLabel('Sound').count()).toBe(1);

    await page.getByRole('button', { name: 'Record' }).click();
    await page.waitForTimeout(300);
    await page.getByRole('button', { name: 'Stop recording' }).click();
    const durationOf = async (sound: Locator) => {
      await sound.waitFor();
      for (;;) {
        const seconds = await sound.evaluate((one: HTMLAudioElement) => one.duration || 0);
        if (seconds > 0) return seconds;
        await page.waitForTimeout(20);
      }
    };
    expect(await durationOf(page.getByLabel('Sound 1', { exact: true }))).toBeGreaterThan(0.1);
    await page.getByRole('switch', { name: 'Spoken response' }).click();
    const spoken = await ask(page, 'Hello');
    await spoken.getByText('Hello', { exact: true }).waitFor();
    expect(await durationOf(spoken.getByLabel('Speech'))).toBeCloseTo(5 * 0.06, 2);
    expect(await page.getByRole('switch', { name: 'Spoken response' }).isChecked()).toBe(true);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a rejected message shows the error code and can be edited', async () => {
  await using visitor = await ownerAtPlayground('sandbox-error-529');
  const { page } = visitor;
  await page.getByLabel('Your message').fill('Are you there?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('529 upstream_overloaded').waitFor();
  await page.getByRole('button', { name: 'Edit message' }).click();
  expect(await page.getByLabel('Your message').inputValue()).toBe('Are you there?');
});

test.skipIf(chromium === null)('the model stays the same after the first message', async () => {
  await using visitor = await opened.visit('owner');
  const { page } = visitor;
  const models = { data: [{ id: 'sandbox-thinking' }] };
  await page.route(/[0-9]\/v1\/models\?limit=1000$/, (route) => route.fulfill({ json: models }));
  await visitor.goTo('/playground');
  await ask(page, 'One');
  expect(await page.getByRole('combobox', { name: 'Model', exact: true }).inputValue()).toBe('sandbox-echo');
  await ask(page, 'Two');
  expect(await page.getByRole('combobox', { name: 'Model', exact: true }).inputValue()).toBe('sandbox-echo');
});

test.skipIf(chromium === null)('a double click creates one key, and the page shows its first request', async () => {
  await using visitor = await opened.visit('owner');
  const { page } = visitor;
  await visitor.goTo('/keys/new');
  await page.getByLabel('Name').fill('made by two clicks');
  await page.getByRole('button', { name: 'Create key' }).dblclick();
  const secret = await page.getByTestId('secret').textContent();
  const keys = (await opened.turnpike.admin('GET', `/keys?account=${opened.filled.accounts.acme}`))['data'] as {
    name: string;
  }[];
  expect(keys.filter(({ name }) => name === 'made by two clicks')).toHaveLength(1);
  const message = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
  expect((await opened.turnpike.post(secret ?? '', message)).status).toBe(200);
  await page.getByText('Request received').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'two models respond side by side, each with its cost, from one composer, and a previous prompt is reusable',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-echo');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('combobox', { name: 'Second model' }).click();
    await page.getByRole('option', { name: 'sandbox-thinking' }).click();
    await page.getByLabel('Your message').fill('Compare this');
    await page.getByRole('button', { name: 'Send' }).click();
    const boxes = [];
    for (const model of ['sandbox-echo', 'sandbox-thinking']) {
      const column = page.getByRole('region', { name: `Conversation with ${model}` });
      const answer = column.getByRole('article', { name: 'Response' });
      await answer.getByText('Compare this').waitFor();
      await answer.getByTestId('cost').waitFor();
      await answer.getByText('total ').waitFor();
      boxes.push(await answer.boundingBox());
    }
    expect(boxes[1]?.x).toBeGreaterThan((boxes[0]?.x ?? 0) + (boxes[0]?.width ?? 0));
    await page.getByRole('button', { name: 'Previous prompts' }).click();
    await page.getByRole('menuitem', { name: 'Compare this' }).click();
    expect(await page.getByLabel('Your message').inputValue()).toBe('Compare this');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'the first message creates a key that expires within a day; after a reload and in another tab it is the same key',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-echo');
    const { page } = visitor;
    const before = await playgroundKeys();
    await page.getByText('The first request creates a key that can spend $1.00 per day').waitFor();
    await ask(page, 'One');
    await page.getByTestId('key-line').getByText(' of $1.00 left today').waitFor();
    await page.reload();
    await ask(page, 'Two');
    const other = await visitor.context.newPage();
    await other.goto(page.url());
    await ask(other, 'Three');
    await ask(page, 'Four'); // with the previous secret, which works for an hour
    const made = (await playgroundKeys()).filter(({ id }) => !before.some((one) => one.id === id));
    expect(made).toMatchObject([{ quota: '1.00', quota_period: 'day', account: opened.filled.accounts.acme }]);
    const leftMs = Date.parse(made[0]?.expires_at ?? '') - Date.now();
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(24 * 3_600_000);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain('sk-tp-');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('the spend limit of the key can be changed, and a revoked key is replaced', async () => {
  await using visitor = await atPlayground('member', 'sandbox-echo');
  const { page } = visitor;
  const before = await playgroundKeys();
  const ownNow = async () => (await playgroundKeys()).filter(({ id }) => !before.some((one) => one.id === id));
  await inSettings(page, () => page.getByLabel('Spend limit per day (USD)').fill('0.25'));
  await ask(page, 'One');
  await inSettings(page, async () => {
    await page.getByLabel('Spend limit per day (USD)').fill('0.50');
    await page.getByRole('button', { name: 'Save limit' }).click();
    await page.getByText('Spend limit saved.').waitFor();
  });
  await page.getByTestId('key-line').getByText(' of $0.50 left today').waitFor();
  const [first] = await ownNow();
  expect(first?.quota).toBe('0.50');
  await opened.turnpike.admin('POST', `/keys/${first?.id}/revoke`, {});
  await page.getByLabel('Your message').fill('Two');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('401 key_').waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('article', { name: 'Response' }).nth(1).getByTestId('cost').waitFor();
  const statuses = (await ownNow()).map(({ status, made_by: maker }) => [status, maker === first?.made_by]);
  expect(statuses).toEqual([
    ['revoked', true],
    ['enabled', true],
  ]);
});

test.skipIf(chromium === null)('a viewer sees that viewers cannot create keys, and may enter one', async () => {
  await using visitor = await atPlayground('viewer', 'sandbox-echo');
  const { page } = visitor;
  await page.getByText('Viewers cannot create API keys.').waitFor();
  await page.getByLabel('Your message').fill('Hello');
  expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
  await page.getByRole('textbox', { name: 'Existing API key' }).fill(opened.filled.key.secret);
  await page.getByRole('button', { name: 'Use key' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('article', { name: 'Response' }).getByText('Hello').waitFor();
});

test.skipIf(chromium === null)('the composer stays in view below a long conversation, also on a phone', async () => {
  await using visitor = await atPlayground('owner', 'sandbox-echo', true);
  const { page } = visitor;
  await ask(page, 'A line of many.\n\n'.repeat(120));
  for (const at of ['end', 'start'] as const) {
    await page.evaluate((place) => window.scrollTo(0, place === 'end' ? 1e6 : 0), at);
    const box = await page.getByRole('button', { name: 'Send' }).boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

const markdown = [
  '## Result',
  '',
  'First **bold** and `code`.',
  'Second line.',
  '',
  '- one',
  '- two',
  '',
  '| a | b |',
  '|---|---|',
  '| 1 | 2 |',
  '',
  '```js',
  'const answer = "<b>";',
  '```',
].join('\n');

test.skipIf(chromium === null)('a response is shown as Markdown, and its code can be copied', async () => {
  await using visitor = await ownerAtPlayground('sandbox-echo');
  await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { page } = visitor;
  const answer = await ask(page, markdown);
  expect(await answer.locator('strong').textContent()).toBe('bold');
  expect(await answer.locator('li').allTextContents()).toEqual(['one', 'two']);
  expect(await answer.locator('td').allTextContents()).toEqual(['1', '2']);
  expect(await answer.locator('pre').textContent()).toBe('const answer = "<b>";');
  await answer.getByRole('button', { name: 'Copy' }).click();
  await answer.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('const answer = "<b>";');
  expect(await page.getByRole('article', { name: 'You' }).locator('strong').count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('only a response loads the Markdown parser', async () => {
  await using visitor = await opened.visit('owner');
  const { page } = visitor;
  const withParser: string[] = [];
  page.on('response', async (response) => {
    if (!response.url().endsWith('.js')) return;
    const text = await response.text().catch(() => '');
    if (text.includes('disableParsingRawHTML')) withParser.push(response.url());
  });
  await visitor.goTo('/keys/new');
  expect(withParser).toEqual([]);
  await visitor.goTo('/playground');
  await page.getByLabel('Your message').waitFor();
  expect(withParser).toEqual([]);
  await ask(page, 'Hello');
  expect(withParser).toHaveLength(1);
});

async function playgroundKeys() {
  const { data } = await opened.turnpike.admin('GET', `/keys?account=${opened.filled.accounts.acme}&limit=1000`);
  return (data as KeyShape[]).filter(({ name }) => name === 'playground');
}
