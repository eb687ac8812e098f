// The provider fails while the limits of a coding agent's message are read.

import { expect, test } from 'bun:test';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { startControlled } from '../post-messages/controlled-service.ts';

const AGENT = { grant: 1, person: 2, client: 'claude-code', email: null, name: 'Ada', groups: [] } as const;

test.each([false, true])(
  'a message is answered with its error, and no rejection is unhandled: stream %p',
  async (stream) => {
    const unhandled: unknown[] = [];
    const record = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', record);
    try {
      const failed = Promise.withResolvers<void>();
      await using service = await startControlled({
        agent: AGENT,
        async answer() {
          failed.resolve();
          throw new ProviderFault('rejected', 'the provider refuses it');
        },
        async beforeMeters() {
          await failed.promise;
          // The failure gets through all of the attempts' own promises before the meters are there.
          for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
        },
      });
      const response = await service.post(await service.makeKey(), { stream });
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('the provider refuses it'),
      ]);
      expect(unhandled).toEqual([]);
      expect((await service.check()).faults).toEqual([]);
    } finally {
      process.off('unhandledRejection', record);
    }
  },
);
