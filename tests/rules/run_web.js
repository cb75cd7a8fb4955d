// Runs each NAME.onnx of a folder in onnxruntime-web on the inputs of NAME.json, and writes
// NAME.out.json, or NAME.error.txt.
// node run_web.js FOLDER
const fs = require('fs');
const path = require('path');
const ort = require('onnxruntime-web');

const ARRAYS = { uint8: Uint8Array, int8: Int8Array, float32: Float32Array };

async function run(folder, name) {
  const given = JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`)));
  const feeds = {};
  for (const [input, { type, dims, data }] of Object.entries(given)) {
    feeds[input] = new ort.Tensor(type, ARRAYS[type].from(data), dims);
  }
  const session = await ort.InferenceSession.create(path.join(folder, `${name}.onnx`), {
    executionProviders: ['wasm'],
  });
  const outputs = {};
  for (const [output, tensor] of Object.entries(await session.run(feeds))) {
    outputs[output] = { type: tensor.type, dims: tensor.dims, data: Array.from(tensor.data) };
  }
  fs.writeFileSync(path.join(folder, `${name}.out.json`), JSON.stringify(outputs));
}

async function main(folder) {
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  for (const file of fs.readdirSync(folder).filter((file) => file.endsWith('.onnx')).sort()) {
    const name = file.slice(0, -'.onnx'.length);
    await run(folder, name).catch((error) => {
      fs.writeFileSync(path.join(folder, `${name}.error.txt`), String(error));
    });
  }
}

main(process.argv[2]).then(() => process.exit(0), (error) => {
  console.error(String(error));
  process.exit(1);
});
