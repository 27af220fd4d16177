// Counts steps: functions that return if all is well, and throw if not.
import assert from 'node:assert/strict';

const steps = [];

/** Adds a step. */
export function step(name, run) {
  steps.push({ name, run });
}

/** Fails unless two values are equal in all their parts. */
export const equal = assert.deepEqual;
export const ok = assert.ok;

/** Fails unless the promise is rejected with this code. Returns the error. */
export async function fails(code, promise) {
  try {
    await promise;
  } catch (error) {
    if (code !== undefined && error.code !== code) throw error;
    return error;
  }
  throw new Error(`no error, expected ${code}`);
}

/** Runs all steps, each whatever the others did. Ends the program. */
export async function runAll(close = async () => {}) {
  let passed = 0;
  for (const { name, run } of steps) {
    try {
      await run();
      passed += 1;
    } catch (error) {
      console.log(`FAILED ${name}:`, error);
    }
  }
  await close();
  console.log(`${passed} passed, ${steps.length - passed} failed`);
  process.exit(passed === steps.length ? 0 : 1);
}
