// Starts the service in a process of its own and prints how many modules of clouds are loaded, without and with a credential
// that needs them. It has no tests of its own.

import { startTurnpike } from '../../support/start-turnpike.ts';

const ofClouds = () =>
  Object.keys(require.cache).filter((path) =>
    /node_modules\/(?:@aws-sdk|@smithy|@azure|google-auth-library)\//.test(path),
  );

if (import.meta.main) {
  const vendor = { kind: 'anthropic', base_url: 'http://127.0.0.1:9', private_network: true };
  const turnpike = await startTurnpike(
    {
      providers: {
        vendor: { ...vendor, api_key: 'sk-1' },
        filed: { ...vendor, auth: { type: 'env', name: 'VENDOR_API_KEY' } },
      },
    },
    { VENDOR_API_KEY: 'sk-2' },
  );
  await turnpike.admin('POST', '/providers/filed/test', {});
  const modules = Object.keys(require.cache).length;
  const before = ofClouds().length;
  const auth = { type: 'aws_secret', secret: 'turnpike', region: 'us-east-1' };
  await turnpike.admin('POST', '/apply', { document: { providers: { vendor: { ...vendor, auth } } } });
  await turnpike.admin('POST', '/providers/vendor/test', {});
  process.stdout.write(JSON.stringify({ modules, before, after: ofClouds().length }));
  await turnpike.stop();
  process.exit(0);
}
