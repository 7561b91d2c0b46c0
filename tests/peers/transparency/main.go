// Asks golang.org/x/mod, which runs Go's own checksum database, about notes and proofs: one JSON question on each line of
// the input, one JSON answer on each line of the output.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type question struct {
	Ask    string
	Keys   []string
	Note   string
	Text   string
	Secret string
	Lines  []string
	Leaf   tlog.Hash
	Index  int64
	Old    int64
	Size   int64
	Was    tlog.Hash
	Root   tlog.Hash
	Proof  []tlog.Hash
}

type answer struct {
	Error   string
	Text    string
	Signers []uint32
	Note    string
	Roots   []tlog.Hash
	Record  []tlog.Hash
	Tree    []tlog.Hash
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		given, err := reply(asked)
		if err != nil {
			given.Error = err.Error()
		}
		if err := answers.Encode(given); err != nil {
			log.Fatal(err)
		}
	}
}

func reply(asked question) (answer, error) {
	switch asked.Ask {
	case "open":
		return open(asked)
	case "sign":
		signer, err := note.NewSigner(asked.Secret)
		if err != nil {
			return answer{}, err
		}
		signed, err := note.Sign(&note.Note{Text: asked.Text}, signer)
		return answer{Note: string(signed)}, err
	case "inclusion":
		return answer{}, tlog.CheckRecord(asked.Proof, asked.Size, asked.Root, asked.Index, asked.Leaf)
	case "consistency":
		return answer{}, tlog.CheckTree(asked.Proof, asked.Size, asked.Root, asked.Old, asked.Was)
	case "prove":
		return prove(asked)
	}
	log.Fatalf("nobody asks %q", asked.Ask)
	return answer{}, nil
}

func open(asked question) (answer, error) {
	var known []note.Verifier
	for _, key := range asked.Keys {
		verifier, err := note.NewVerifier(key)
		if err != nil {
			return answer{}, err
		}
		known = append(known, verifier)
	}
	opened, err := note.Open([]byte(asked.Note), note.VerifierList(known...))
	if err != nil {
		return answer{}, err
	}
	given := answer{Text: opened.Text}
	for _, signature := range opened.Sigs {
		given.Signers = append(given.Signers, signature.Hash)
	}
	return given, nil
}

func prove(asked question) (answer, error) {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var found []tlog.Hash
		for _, index := range indexes {
			found = append(found, stored[index])
		}
		return found, nil
	})
	var given answer
	for index, line := range asked.Lines {
		hashes, err := tlog.StoredHashes(int64(index), []byte(line), read)
		if err != nil {
			return given, err
		}
		stored = append(stored, hashes...)
		root, err := tlog.TreeHash(int64(index)+1, read)
		if err != nil {
			return given, err
		}
		given.Roots = append(given.Roots, root)
	}
	record, err := tlog.ProveRecord(asked.Size, asked.Index, read)
	if err != nil {
		return given, err
	}
	tree, err := tlog.ProveTree(asked.Size, asked.Old, read)
	given.Record, given.Tree = record, tree
	return given, err
}
