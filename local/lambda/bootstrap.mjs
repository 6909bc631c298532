// The runtime inside an execution environment: fetches events from the Lambda Runtime API and calls the handler. Plain
// JavaScript, because stripping types costs each environment 18 MB and 30 ms.
import http from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';

const { env } = process;
const [hostname, port] = env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let requestId;

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, method, path: `/2018-06-01/runtime/${path}`, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ headers: response.headers, text }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body);
  });
}

function describe(error, errorType) {
  if (!(error instanceof Error))
    return { errorType: errorType ?? 'string', errorMessage: format('%s', error), trace: [] };
  return {
    errorType: errorType ?? error.name ?? 'Error',
    errorMessage: error.message,
    trace: String(error.stack ?? '').split('\n'),
  };
}

async function fail(path, error, errorType) {
  const report = describe(error, errorType);
  console.error('%s\t%s', path === 'init/error' ? 'Init Error' : 'Invoke Error', JSON.stringify(report));
  await call('POST', path, JSON.stringify(report));
}

/** An error outside the handler's promise ends the process, as on AWS. */
function endWith(errorType, code) {
  return (error) => {
    const path = requestId === undefined ? 'init/error' : `invocation/${requestId}/error`;
    const end = () => process.exit(code);
    fail(path, error, errorType).then(end, end);
  };
}
process.on('uncaughtException', endWith(undefined, 129));
process.on('unhandledRejection', endWith('Runtime.UnhandledPromiseRejection', 128));

async function load() {
  const dot = env._HANDLER.lastIndexOf('.');
  const file = join(env.LAMBDA_TASK_ROOT, `${env._HANDLER.slice(0, dot)}.mjs`);
  const name = env._HANDLER.slice(dot + 1);
  const { [name]: handler } = await import(pathToFileURL(file).href);
  if (typeof handler === 'function') return handler;
  throw Object.assign(new Error(`${file} exports no function "${name}"`), { name: 'Runtime.HandlerNotFound' });
}

function contextOf(headers) {
  const deadline = Number(headers['lambda-runtime-deadline-ms']);
  return {
    awsRequestId: headers['lambda-runtime-aws-request-id'],
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

async function runOne(handler) {
  const { headers, text } = await call('GET', 'invocation/next');
  const context = contextOf(headers);
  requestId = context.awsRequestId;
  env._X_AMZN_TRACE_ID = headers['lambda-runtime-trace-id'];
  let answer;
  try {
    answer = JSON.stringify((await handler(JSON.parse(text), context)) ?? null);
    if (answer === undefined) throw new TypeError('the handler returned a value that JSON cannot represent');
  } catch (error) {
    await fail(`invocation/${requestId}/error`, error);
    return;
  }
  await call('POST', `invocation/${requestId}/response`, answer);
}

let handler;
try {
  handler = await load();
} catch (error) {
  await fail('init/error', error);
  process.exit(1);
}
for (;;) await runOne(handler);
