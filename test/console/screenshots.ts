// Takes screenshots of pages for review, from a service with data, or without (--empty):
// bun test/console/screenshots.ts [--empty] [--role owner] [--out DIRECTORY] [--looks wide-light,phone-dark] [--zone America/New_York] /keys /usage …
// {acme}, {key}, {request}, {batch}, and the names of payments such as {failed} in a path are replaced by ids. Prints the problems of each page.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startWithStripe } from '../contract/payments/payments-service.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { fillBatches, fillConsole } from './fill-console.ts';
import { fillPayments } from './fill-payments.ts';
import { startChromium, visitAnew } from './open-console.ts';

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: {
    empty: { type: 'boolean', default: false },
    role: { type: 'string', default: 'operator' },
    out: { type: 'string', default: 'dist/looks' },
    zone: { type: 'string', default: 'UTC' },
    looks: { type: 'string', default: 'wide-light,wide-dark,phone-light,phone-dark' },
  },
  allowPositionals: true,
});

mkdirSync(values.out, { recursive: true });
await using service = values.empty ? null : await startWithStripe();
await using unpaid = values.empty ? await startOwnTurnpike('its pages show a new installation') : null;
const turnpike = (service?.turnpike ?? unpaid) as Turnpike;
const filled = await fillConsole(turnpike, values.empty ? 0 : 60);
const batch = values.empty ? '' : await fillBatches(turnpike, filled.key.secret);
const payments = service === null ? {} : await fillPayments(service, filled.accounts.acme);
const token = filled.tokens[values.role as 'operator'];
const browser = await startChromium();
for (const look of values.looks.split(',')) {
  const options = { isDark: look.endsWith('dark'), isPhone: look.startsWith('phone'), zone: values.zone };
  await using visitor = await visitAnew(browser, { url: turnpike.url, token, ...options });
  for (const path of positionals) {
    const place = path
      .replace('{acme}', filled.accounts.acme)
      .replace('{key}', filled.key.id)
      .replace('{request}', filled.requestId)
      .replace('{batch}', batch)
      .replace(/\{(\w+)\}/, (_, name: string) => payments[name as 'paid'] ?? '');
    await visitor.goTo(place);
    const name = `${path.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'overview'}-${look}.png`;
    await visitor.page.screenshot({ path: join(values.out, name), fullPage: true });
    console.log(join(values.out, name), visitor.problems.splice(0));
  }
}
await browser.close();
