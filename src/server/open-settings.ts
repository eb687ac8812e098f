// The settings that may change while the service runs, because they are references to a secret.

import { type Config, type MailSettings, readMailServer, SMTP_URL } from '../config/config.ts';
import { SettingSecrets } from '../credentials/credentials.ts';
import { type Observers, reportCredential } from './observe.ts';
import type { Closing } from './server.ts';

export interface OpenSettings {
  secrets: SettingSecrets;
  /** The settings of mail at present; null: no SMTP server is set. */
  readMail: (() => MailSettings) | null;
}

export async function openSettings(config: Config, observers: Observers, closing: Closing): Promise<OpenSettings> {
  const secrets = new SettingSecrets(config, {
    nowMs: () => observers.clock.nowMs(),
    onState: ({ provider: setting, ...state }) => reportCredential(observers, { setting }, state),
  });
  closing.push(() => secrets.close());
  return { secrets, readMail: await openMailSettings(config, secrets) };
}

async function openMailSettings(
  { mail, references }: Config,
  secrets: SettingSecrets,
): Promise<OpenSettings['readMail']> {
  if (mail === null) return null;
  if (references[SMTP_URL] === undefined) return () => mail;
  const secret = await secrets.open(SMTP_URL, '');
  let last = { url: '', settings: mail };
  return () => {
    const url = secret.reveal();
    if (url === last.url) return last.settings;
    const server = readMailServer(url, []);
    // An invalid URL cannot be used; the former one may still work.
    last = { url, settings: server === null ? last.settings : Object.freeze({ ...mail, ...server }) };
    return last.settings;
  };
}
