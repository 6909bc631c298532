// Loads a bundle in a fresh process, as Lambda does, reports what that took, and invokes its function. Plain
// JavaScript: stripping types would count as well.
const [bundle, event] = process.argv.slice(2);
const cpu = process.cpuUsage();
const begun = performance.now();
const { handler } = await import(bundle);
const loadMs = performance.now() - begun;
const { user, system } = process.cpuUsage(cpu);
process.send({ loadMs, cpuMs: (user + system) / 1000 });
if (event !== undefined) {
  const context = { functionName: 'cold', awsRequestId: 'cold-1', getRemainingTimeInMillis: () => 60_000 };
  await handler(JSON.parse(event), context);
}
