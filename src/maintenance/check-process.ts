// How the service is, or would be, started: settings, where it listens, how many connections it may have.

import { isInRanges, parseAddress, parseRange } from '../base/address-range.ts';
import { DEFAULT_SETTINGS } from '../catalog/catalog.ts';
import type { Finding } from '../commands/commands.ts';
import type { Facts } from './facts.ts';

const FILES_PER_MESSAGE = 2; // the caller's connection and the provider's
const FILES_BESIDE = 100;
const LOOPBACK = ['127.0.0.0/8', '::1/128'].map(parseRange).filter((range) => range !== null);

export function checkProcess(facts: Facts): Finding[] {
  return [...checkSettings(facts), ...checkListen(facts), ...checkOpenFiles(facts)];
}

function checkSettings({ settingFaults }: Facts): Finding[] {
  return settingFaults.map((fault) => ({
    severity: 'error',
    code: 'setting_wrong',
    subject: /^[\w-]+/.exec(fault)?.[0] ?? 'settings',
    message: `${fault}. The service does not start with this setting.`,
    remedy: 'Mend or remove it: docs/configuration.md lists them all.',
  }));
}

/** What the running service says of itself counts, else what it would be started with. */
function checkListen({ operatorFile, listen, isLocked }: Facts): Finding[] {
  const told = isLocked && operatorFile !== null && 'is' in operatorFile ? operatorFile.is : null;
  if (told?.url.startsWith('https:')) return [];
  const hostname = told?.listen == null ? listen.hostname : told.listen.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  if (isLoopback(hostname)) return [];
  return [
    {
      severity: 'warning',
      code: 'listens_without_tls',
      subject: `address ${hostname}`,
      message:
        'The service listens to other machines without TLS: unless something in front of it ends TLS, keys and messages travel in the clear.',
      remedy: 'Give it a certificate (--tls-certificate, --tls-key), or let only a proxy that ends TLS reach it.',
    },
  ];
}

function isLoopback(hostname: string): boolean {
  const address = parseAddress(hostname);
  return hostname === 'localhost' || (address !== null && isInRanges(address, LOOPBACK));
}

function checkOpenFiles({ openFilesMax, catalogue }: Facts): Finding[] {
  if (openFilesMax === null) return [];
  const settings =
    catalogue !== null && 'is' in catalogue.catalogue ? catalogue.catalogue.is.settings : DEFAULT_SETTINGS;
  const needed = settings.shedOpenMessages * FILES_PER_MESSAGE + FILES_BESIDE;
  if (openFilesMax >= needed) return [];
  return [
    {
      severity: 'warning',
      code: 'open_files_low',
      subject: 'limit of open files',
      message: `A process here may have ${openFilesMax} files and connections open; the ${settings.shedOpenMessages} messages at once that the setting shed_open_messages allows need ${needed}. Beyond the limit, connections are refused without an answer.`,
      remedy: `Raise the limit where the service is started ("ulimit -n ${needed}", LimitNOFILE=${needed} of systemd), or lower shed_open_messages to ${Math.max(1, Math.floor((openFilesMax - FILES_BESIDE) / FILES_PER_MESSAGE))}.`,
    },
  ];
}
