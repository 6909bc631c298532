/** The oldest release that has node:sqlite and Map.groupBy without a flag. */
const LEAST = { major: 22, minor: 13 };

/** @throws Error when the engine cannot run on this release of Node; `runHandler` does not require it. */
export function refuseOldNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > LEAST.major || (major === LEAST.major && minor >= LEAST.minor)) return;
  throw new Error(
    `openTestDatabase requires Node ${LEAST.major}.${LEAST.minor} or later, and this is ${version}; runHandler does not. ` +
      'npm test and npx node --test use the Node 24 of millrace-dev',
  );
}
