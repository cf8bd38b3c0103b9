package attempt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// sealer encodes the results in files as Temporal's payloads are encoded, with the codecs of this process. A [converter.PayloadCodec] may come
// late, so it is asked for each time. Without codecs, results are plain text.
type sealer func() []converter.PayloadCodec

func (s sealer) codecs() []converter.PayloadCodec {
	if s == nil {
		return nil
	}
	return s()
}

func (s sealer) seal(result []byte) ([]byte, error) {
	codecs := s.codecs()
	if len(codecs) == 0 {
		return result, nil
	}
	payloads := []*commonpb.Payload{plain(result)}
	for _, codec := range slices.Backward(codecs) {
		var err error
		if payloads, err = codec.Encode(payloads); err != nil {
			return nil, fmt.Errorf("encode a result for a file: %w", err)
		}
	}
	return proto.Marshal(payloads[0])
}

// open decodes a file. The codec says whether it accepts a file that was written without a codec.
func (s sealer) open(file []byte) ([]byte, error) {
	codecs := s.codecs()
	payload := plain(file)
	if isSealed := bytes.HasPrefix(file, []byte{metadataTag}); isSealed {
		if len(codecs) == 0 {
			return nil, errors.New("the file is encoded by a codec that this worker does not have: start the worker with the keys that it had")
		}
		payload = new(commonpb.Payload)
		if err := proto.Unmarshal(file, payload); err != nil {
			return nil, fmt.Errorf("read an encoded result: %w", err)
		}
	}
	payloads := []*commonpb.Payload{payload}
	for _, codec := range codecs {
		var err error
		if payloads, err = codec.Decode(payloads); err != nil {
			return nil, fmt.Errorf("decode a result in a file: %w", err)
		}
	}
	return payloads[0].GetData(), nil
}

// metadataTag is the first byte of a payload as protobuf, the tag of its metadata. The results are JSON without white space before it, which
// never begins with this byte, a line feed.
const metadataTag = '\n'

func plain(result []byte) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: result}
}
