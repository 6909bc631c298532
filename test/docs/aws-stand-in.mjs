// Runs the `aws sqs …` of a page on a machine without the AWS command line: one call of the SDK, with the same options.
// An unknown option, or a refusal by SQS, ends it with exit code 1.
import { SQS } from '@aws-sdk/client-sqs';

const [service, operation, ...options] = process.argv.slice(2);
if (service !== 'sqs') throw new Error(`only aws sqs is supported here, not ${service}`);
const camel = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
/** The parameters of the call: `--queue-url` becomes `QueueUrl`. */
const input = {};
while (options.length > 0) {
  const [name, value] = options.splice(0, 2);
  if (!name.startsWith('--') || value === undefined) throw new Error(`expected --option value, got ${name}`);
  input[camel(name.slice(1))] = /^\d+$/.test(value) ? Number(value) : value;
}
const { EndpointUrl: endpoint, ...parameters } = input;
const client = new SQS({ endpoint, region: process.env.AWS_DEFAULT_REGION });
const { $metadata, ...answer } = await client[camel(operation)](parameters);
console.log(JSON.stringify(answer, null, 4));
